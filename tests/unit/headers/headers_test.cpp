/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The headers as "make install" brings them, found by pkg-config: the programs of
 * docs/libkrdma.md compile with them, and a compiler of another language than a header's
 * says what it wants.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>

#include <gtest/gtest.h>

namespace fs = std::filesystem;

namespace {

struct Result {
	int status;
	std::string output;
};

/* by the shell, with what it writes */
Result run(const std::string &command)
{
	std::array<char, 4096> buffer;
	Result result{-1, {}};
	FILE *pipe = popen((command + " 2>&1").c_str(), "r");

	if (!pipe)
		return result;
	while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
		result.output.append(buffer.data(), got);
	const int status = pclose(pipe);
	result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return result;
}

/* a compiler that may be there or not */
bool exists(const std::string &compiler)
{
	return run("command -v " + compiler).status == 0;
}

class Headers : public testing::Test {
protected:
	static void SetUpTestSuite()
	{
		std::string name = (fs::temp_directory_path() / "krdma-headers-XXXXXX").string();

		root = mkdtemp(name.data());
		const Result installed = run("make --no-print-directory -C " HEADERS_TREE
					     " install-headers BUILD=" HEADERS_BUILD
					     " LIBDIR=/usr/lib/krdma-test DESTDIR=" +
					     root.string());
		ASSERT_EQ(installed.status, 0) << installed.output;
		const Result found = run(
			"PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_SYSROOT_DIR=" + root.string() +
			" PKG_CONFIG_LIBDIR=" + root.string() +
			"/usr/lib/krdma-test/pkgconfig pkg-config --cflags krdma");
		ASSERT_EQ(found.status, 0) << found.output;
		flags = found.output.substr(0, found.output.find('\n'));
		ASSERT_NE(flags.find(root.string() + "/usr/include"), std::string::npos) << flags;
	}

	static void TearDownTestSuite()
	{
		fs::remove_all(root);
	}

	/* by a compiler and its options, and nothing of this tree */
	static Result compile(const std::string &compiler, const std::string &suffix,
			      const std::string &text)
	{
		const fs::path file = root / ("program." + suffix);

		std::ofstream{file} << text;
		return run(compiler + " -fsyntax-only -Wall -Wextra " + flags + ' ' +
			   file.string());
	}

	static fs::path root;
	static std::string flags;
};

fs::path Headers::root;
std::string Headers::flags;

/* the number-th block between ``` lines */
std::string snippet(unsigned int number)
{
	std::ifstream file{HEADERS_TREE "/docs/libkrdma.md"};
	std::string line;
	std::string text;
	unsigned int fences = 0;

	while (std::getline(file, line)) {
		if (line.starts_with("```"))
			fences++;
		else if (fences == 2 * number + 1)
			text += line + '\n';
	}
	return text;
}

TEST_F(Headers, TheProgramInCxxCompiles)
{
	const std::string text = snippet(0);

	ASSERT_NE(text.find("krdma::Session session"), std::string::npos);
	const Result result = compile(HEADERS_CXX " -std=c++20 -Werror", "cpp",
				      "#include <array>\n#include <chrono>\n#include <optional>\n"
				      "#include <span>\n#include <string_view>\n"
				      "#include <krdma/krdma.hpp>\nint main()\n{\n" +
					      text + "\t(void)done;\n}\n");
	EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(Headers, TheProgramInCCompiles)
{
	const std::string text = snippet(1);

	ASSERT_NE(text.find("ual_open(&session)"), std::string::npos);
	const Result result =
		compile(HEADERS_CC " -std=c11 -pedantic -Werror", "c",
			"#include <krdma/ual.h>\nint main(void)\n{\n"
			"\tstruct ual_session *session;\n\tstruct ual_context *context;\n"
			"\tstruct ual_pd *pd;\n\tstruct ual_cq *cq;\n\tstruct ual_qp *qp;\n"
			"\tstruct ual_mr *mr;\n\tstruct ual_connection *connection;\n"
			"\tstruct krdma_addr peer;\n\tstruct krdma_wc wc;\n"
			"\tstatic char memory[256];\n\tuint32_t index;\n" +
				text + "\treturn (int)wc.status;\n}\n");
	EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(Headers, APedantHasNothingToSay)
{
	const std::string c = "#include <krdma/ual.h>\n";
	const std::string cxx = "#include <krdma/krdma.hpp>\n";

	for (const std::string compiler : {HEADERS_CC, "clang"})
		for (const char *standard : {"c99", "c11", "c17"}) {
			if (!exists(compiler))
				continue;
			const Result result =
				compile(compiler + " -Wpedantic -Werror -std=" + standard, "c", c);
			EXPECT_EQ(result.status, 0) << compiler << ' ' << standard << '\n'
						    << result.output;
		}
	for (const std::string compiler : {HEADERS_CXX, "clang++"}) {
		if (!exists(compiler))
			continue;
		const Result result =
			compile(compiler + " -Wpedantic -Werror -std=c++20", "cpp", c + cxx);
		EXPECT_EQ(result.status, 0) << compiler << '\n' << result.output;
	}
}

TEST_F(Headers, OptionsBeginInBothLanguages)
{
	const std::string text = "#include <krdma/ual.h>\n"
				 "struct ual_cq_options a = UAL_CQ_OPTIONS;\n"
				 "struct ual_srq_options b = UAL_SRQ_OPTIONS;\n"
				 "struct ual_qp_options c = UAL_QP_OPTIONS;\n"
				 "struct ual_conn_options d = UAL_CONN_OPTIONS;\n"
				 "struct ual_listen_options e = UAL_LISTEN_OPTIONS;\n";
	const Result c = compile(HEADERS_CC " -std=c11 -pedantic -Werror", "c", text);
	const Result cxx = compile(HEADERS_CXX " -std=c++17 -pedantic -Werror", "cpp", text);

	EXPECT_EQ(c.status, 0) << c.output;
	EXPECT_EQ(cxx.status, 0) << cxx.output;
}

TEST_F(Headers, OlderCxxIsToldWhatIsMissing)
{
	const Result result = compile(HEADERS_CXX " -std=c++17", "cpp",
				      "#include <krdma/krdma.hpp>\nint main() {}\n");

	EXPECT_NE(result.status, 0);
	EXPECT_NE(result.output.find("krdma.hpp needs C++20"), std::string::npos);
	EXPECT_LT(std::count(result.output.begin(), result.output.end(), '\n'), 6) << result.output;
}

TEST_F(Headers, EachStandsAlone)
{
	for (const fs::directory_entry &header :
	     fs::directory_iterator{root / "usr/include/krdma"}) {
		const bool is_c = header.path().extension() == ".h";
		const Result result =
			compile(is_c ? HEADERS_CC " -std=c11 -pedantic -Werror"
				     : HEADERS_CXX " -std=c++20 -Werror",
				is_c ? "c" : "cpp",
				"#include <krdma/" + header.path().filename().string() +
					">\nint unused;\n");

		EXPECT_EQ(result.status, 0) << header.path() << '\n' << result.output;
	}
}

} /* namespace */
