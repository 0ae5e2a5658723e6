// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The command line of kdapltest. The module checks what it is asked for again. */
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "kdapltest.hpp"

namespace kdapltest {

namespace {

/* The words of the command line, one after the other; the first problem stays. */
class Words {
public:
	Words(int argc, char **argv) : words(argv + 1, argv + argc)
	{}

	bool more() const
	{
		return next < words.size() && problem.empty();
	}
	std::string_view peek() const
	{
		return next < words.size() ? words[next] : std::string_view();
	}

	std::string take(const char *what)
	{
		if (next < words.size())
			return std::string(words[next++]);
		fail(std::string(what) + " is missing");
		return "";
	}

	/* A number from @least to @most, maybe with k or m behind it */
	std::uint32_t number(const char *what, std::uint32_t least, std::uint32_t most)
	{
		std::string word = take(what);
		std::uint64_t value = 0;
		unsigned int shift = 0;
		std::string digits = word;

		if (!digits.empty() && (digits.back() == 'k' || digits.back() == 'm')) {
			shift = digits.back() == 'k' ? 10 : 20;
			digits.pop_back();
		}
		bool good = !digits.empty() && digits.size() <= 10 &&
			    digits.find_first_not_of("0123456789") == std::string::npos;
		if (good)
			value = std::stoull(digits) << shift;
		if (!good || value < least || value > most)
			fail(std::string(what) + ": " + std::to_string(least) + " to " +
			     std::to_string(most) + ", not '" + word + "'");
		return static_cast<std::uint32_t>(value);
	}

	void fail(const std::string &text)
	{
		if (problem.empty())
			problem = text;
	}

	std::string problem;

private:
	std::vector<std::string_view> words;
	std::size_t next = 0;
};

/* MODE SIZE [SEGMENTS] */
void take_op(Words &words, kdt_args &args, bool server)
{
	std::string kind = words.take("an operation");
	kdt_op op{};

	op.server = server;
	if (kind == "SR")
		op.kind = KDT_SEND;
	else if (kind == "RW")
		op.kind = KDT_WRITE;
	else if (kind == "RR")
		op.kind = KDT_READ;
	else
		words.fail("an operation is SR, RW or RR, not '" + kind + "'");
	op.size = words.number("a size", 1, KDT_BYTES);
	op.segments = 1;
	if (!words.peek().empty() &&
	    words.peek().find_first_not_of("0123456789") == std::string_view::npos)
		op.segments = static_cast<__u16>(words.number("segments", 1, KDT_SEGMENTS));
	if (op.size > KDT_BYTES / op.segments)
		words.fail("an operation carries up to " + std::to_string(KDT_BYTES) + " bytes");
	if (args.nops == KDT_OPS)
		words.fail("there can be " + std::to_string(KDT_OPS) + " operations");
	else
		args.ops[args.nops++] = op;
}

void take_mode(Words &words, kdt_args &args)
{
	std::string mode = words.take("a test");

	if (mode == "S")
		args.mode = KDT_SERVE;
	else if (mode == "T")
		args.mode = KDT_TRANSACTIONS;
	else if (mode == "P")
		args.mode = KDT_PERFORMANCE;
	else if (mode == "L")
		args.mode = KDT_LIMITS;
	else
		words.fail("a test is S, T, P or L, not '" + mode + "'");
}

void take_api(Words &words, kdt_args &args)
{
	std::string api = words.take("an API");

	if (api == "verbs")
		args.api = KDT_VERBS;
	else if (api != "kdapl")
		words.fail("an API is kdapl or verbs, not '" + api + "'");
}

void take_ia(Words &words, kdt_args &args)
{
	std::string name = words.take("the name of an interface adapter");

	if (name.size() >= sizeof(args.ia))
		words.fail("the name is too long");
	else
		std::memcpy(args.ia, name.c_str(), name.size() + 1);
}

/* an object of a limits test, as dapltest names them */
bool take_object(const std::string &word, kdt_args &args)
{
	static const char *const names[] = {"pz",  "evd", "dto_evd", "ep",
					    "lmr", "rmr", "srq",     "psp"};

	static_assert(std::size(names) == KDT_OBJECT_KINDS);
	for (unsigned int i = 0; i < std::size(names); i++) {
		if (word == std::string("limit_") + names[i]) {
			args.kinds |= 1u << i;
			return true;
		}
	}
	return false;
}

void take_word(Words &words, Options &options)
{
	kdt_args &args = options.args;
	std::string word = words.take("an option");

	if (word == "-T")
		take_mode(words, args);
	else if (word == "-D")
		take_ia(words, args);
	else if (word == "-s")
		options.host = words.take("an address");
	else if (word == "-n")
		args.port = words.number("a port", 1, 65535);
	else if (word == "-i")
		args.iterations = words.number("iterations", 1, UINT32_MAX);
	else if (word == "-r")
		options.rounds = words.number("rounds", 1, UINT32_MAX);
	else if (word == "-t")
		args.threads = words.number("threads", 1, KDT_THREADS);
	else if (word == "-w")
		args.eps = words.number("endpoints", 1, KDT_EPS);
	else if (word == "-p")
		args.pipeline = words.number("a pipeline", 1, KDT_PIPELINE);
	else if (word == "-m")
		args.max_objects = words.number("objects", 1, KDT_OBJECTS);
	else if (word == "--soak")
		args.seconds = words.number("seconds", 1, KDT_SECONDS);
	else if (word == "--api")
		take_api(words, args);
	else if (word == "--json")
		options.json = true;
	else if (word == "-o")
		take_op(words, args, false);
	else if (word == "client" || word == "server")
		take_op(words, args, word == "server");
	else if (!take_object(word, args))
		words.fail("'" + word + "' is no option");
}

void resolve(Words &words, Options &options)
{
	addrinfo hints{}, *found = nullptr;

	hints.ai_socktype = SOCK_STREAM;
	int answer = getaddrinfo(options.host.c_str(), std::to_string(options.args.port).c_str(),
				 &hints, &found);
	if (answer) {
		words.fail(options.host + ": " + gai_strerror(answer));
		return;
	}
	std::memcpy(options.args.address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
}

/* What the test needs beside its options */
void check(Words &words, Options &options)
{
	kdt_args &args = options.args;
	bool client = args.mode == KDT_TRANSACTIONS || args.mode == KDT_PERFORMANCE;

	if (!args.ia[0])
		words.fail("-D names the interface adapter");
	if (options.host.empty() && (client || args.api == KDT_VERBS))
		words.fail("-s names the server's address");
	if (client && !args.nops)
		words.fail("no operation is named");
	if (!client && args.nops)
		words.fail("operations are a client's");
	if (args.kinds && args.mode != KDT_LIMITS)
		words.fail("objects are a limits test's");
	if (args.mode == KDT_PERFORMANCE && (args.nops != 1 || args.ops[0].server))
		words.fail("a performance test has one operation, the client's");
	if (args.mode != KDT_PERFORMANCE && args.mode != KDT_SERVE && args.api == KDT_VERBS)
		words.fail("verbs are there for the performance test");
	if (client && args.threads * args.eps > KDT_LINKS)
		words.fail("there can be " + std::to_string(KDT_LINKS) + " connections");
	if (!client && options.rounds > 1)
		words.fail("rounds are a client's");
	if (client && !args.iterations && !args.seconds)
		args.iterations = 1000;
}

} // namespace

std::string usage()
{
	return "kdapltest -T S -D IA [-n PORT] [--soak SECONDS] [--api verbs -s ADDRESS] [--json]\n"
	       "kdapltest -T T -D IA -s HOST [-n PORT] [-i ITERATIONS | --soak SECONDS] [-t "
	       "THREADS] [-w EPS] [--json]\n"
	       "          {client|server} {SR|RW|RR} SIZE [SEGMENTS]...\n"
	       "kdapltest -T P -D IA -s HOST [-n PORT] [-i ITERATIONS | --soak SECONDS] [-t "
	       "THREADS] [-w EPS]\n"
	       "          [-p PIPELINE] [--api kdapl|verbs] [--json] -o {SR|RW|RR} SIZE "
	       "[SEGMENTS]\n"
	       "kdapltest -T L -D IA [-m OBJECTS] [--json] "
	       "[limit_{pz|evd|dto_evd|ep|lmr|rmr|srq|psp}...]\n"
	       "\n"
	       "  -T  S: server; T: transactions, data compared; P: performance; L: limits\n"
	       "  -D  interface adapter: the name of an RNIC of this network namespace\n"
	       "  -w  endpoints of each thread\n"
	       "  -r  rounds of a client: all of it so many times, from the opening of the "
	       "interface adapter\n"
	       "      to its closing; the figures are the last round's\n"
	       "  -p  operations that may be pending at once (default 16)\n"
	       "  -m  objects of a kind after which no more are made (default 2048)\n"
	       "  SR Send, RW RDMA Write, RR RDMA Read; SIZE: bytes of each of SEGMENTS, with k or "
	       "m\n";
}

std::optional<Options> parse(int argc, char **argv, std::string &problem)
{
	Words words(argc, argv);
	Options options;
	kdt_args &args = options.args;
	bool help = false;

	args.size = sizeof(args);
	args.mode = UINT32_MAX;
	args.port = KDT_PORT;
	args.threads = 1;
	args.eps = 1;
	args.pipeline = 16;
	args.max_objects = 2048;
	while (words.more() && !help) {
		help = words.peek() == "-h" || words.peek() == "--help";
		if (!help)
			take_word(words, options);
	}
	if (help)
		return std::nullopt;
	if (args.mode == UINT32_MAX)
		words.fail("-T names the test");
	check(words, options);
	if (words.problem.empty() && !options.host.empty())
		resolve(words, options);
	problem = words.problem;
	if (!problem.empty())
		return std::nullopt;
	return options;
}

} // namespace kdapltest
