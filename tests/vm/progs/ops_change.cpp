// SPDX-License-Identifier: GPL-2.0 OR MIT
// Compared transfers over connections that change their road:
//
//	ops_change [-s SEED] [-r ROUNDS] [-b BYTES] [-w FACTOR] [-x ROAD] [-f FAMILY] [-v]
//		   ADDRESS [PLAIN [SCENE...]]
//
// Each round is a connection within this program, with data in both directions at once; how it is
// sent and received is made from the seed. Round N has SEED + N. With -b the change is placed at
// each byte below BYTES. With PLAIN, an address that no rule takes, each scene is played there,
// too, and must be seen alike. ROAD is the folder of the parameters of the road of the tests, which
// opens when it is told so. The last line counts.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <poll.h>
#include <sys/wait.h>
#include <thread>

#include "ops_change.hpp"

namespace change {

Watch watch;

void need(bool ok, std::string_view what, int line)
{
	if (!ok)
		throw Failure("line " + std::to_string(line) + ": " + std::string(what) + ": " +
			      std::strerror(errno));
}

void same(long wanted, long got, std::string_view what, int line)
{
	if (wanted != got)
		throw Failure("line " + std::to_string(line) + ": " + std::string(what) +
			      ": wanted " + std::to_string(wanted) + ", got " +
			      std::to_string(got));
}

// Pattern *********************************************************************************

Pattern::Pattern(unsigned seed, int direction) : table_(period)
{
	Random random(seed * 2 + direction + 1);

	for (auto &byte : table_)
		byte = random() >> 8;
}

void Pattern::fill(unsigned char *to, size_t size, size_t from) const
{
	while (size) {
		const size_t at = from % period, some = std::min(size, period - at);

		std::memcpy(to, &table_[at], some);
		to += some;
		from += some;
		size -= some;
	}
}

void Pattern::compare(const unsigned char *got, size_t size, size_t from, const char *what) const
{
	for (size_t i = 0; i < size; i++)
		if (got[i] != table_[(from + i) % period])
			throw Failure(std::string(what) + ": byte " + std::to_string(from + i) +
				      " is wrong");
}

// Connections *****************************************************************************

void Trigger::wait() const
{
	int parked = 0;

	for (int i = 0; i < 200 * slow_ && there(); i++) {
		std::ifstream(road_ + "/parked") >> parked;
		if (parked)
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
	need(!there(), "no road is parked");
}

void Trigger::pull(End end) const
{
	if (there())
		need(bool(std::ofstream(road_ + "/release") << int(end) << std::flush), "release");
}

ops::Fd listener(const Setup &setup, int backlog)
{
	const int family = setup.family != AF_INET ? setup.family
			   : setup.base.v6()       ? AF_INET6
						   : AF_INET;
	ops::Fd fd(socket(family, SOCK_STREAM, setup.protocol));
	ops::Address at = setup.base;

	need(fd >= 0, "socket");
	need(ops::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1), "SO_REUSEADDR");
	need(!bind(fd, at.raw(), at.size), "bind");
	need(!listen(fd, backlog), "listen");
	return fd;
}

ops::Fd connected(const Setup &setup, int to)
{
	ops::Address at = ops::name_of(to);
	ops::Fd fd(socket(setup.family != AF_INET ? setup.family
			  : setup.base.v6()       ? AF_INET6
						  : AF_INET,
			  SOCK_STREAM, setup.protocol));

	need(fd >= 0, "socket");
	need(!connect(fd, at.raw(), at.size), "connect");
	return fd;
}

Pair connect_pair(const Setup &setup)
{
	ops::Fd at = listener(setup);
	Pair pair;

	pair.client = connected(setup, at);
	pair.server = ops::Fd(accept4(at, nullptr, nullptr, SOCK_CLOEXEC));
	need(pair.server >= 0, "accept");
	return pair;
}

void send_all(int fd, const unsigned char *data, size_t size, int flags)
{
	while (size) {
		ssize_t sent = send(fd, data, size, flags | MSG_NOSIGNAL);

		need(sent > 0, "send");
		data += sent;
		size -= sent;
	}
}

bool ready(int fd, short events, int milliseconds)
{
	pollfd entry{fd, events, 0};

	return poll(&entry, 1, milliseconds) == 1;
}

} // namespace change

namespace {

using change::Setup;

// where the answer of a round goes
int answer_fd = -1;

void hangs(int)
{
	char text[64];

	for (size_t i = 0; i < change::watch.what.size(); i++) {
		const char *what = change::watch.what[i];
		const int size = what ? std::snprintf(text, sizeof(text), "%s at %zu, ", what,
						      change::watch.place[i].load())
				      : 0;

		(void)!write(answer_fd, text, size);
	}
	_exit(3);
}

// In a process of its own, so that a hang or a signal ends one round. Return: what it said.
template <typename Work>
std::pair<bool, std::string> apart(const Setup &setup, int limit, Work work)
{
	std::array<int, 2> ends{};

	change::need(!pipe(ends.data()), "pipe");
	std::fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		std::string said;
		bool ok = true;

		close(ends[0]);
		answer_fd = ends[1];
		signal(SIGALRM, hangs);
		alarm(limit * setup.slow);
		try {
			said = work();
		} catch (const std::exception &error) {
			said = error.what();
			ok = false;
		}
		(void)!write(ends[1], said.data(), said.size());
		_exit(!ok);
	}
	close(ends[1]);
	std::string said;
	std::array<char, 4096> some{};
	ssize_t got;
	while ((got = read(ends[0], some.data(), some.size())) > 0)
		said.append(some.data(), got);
	close(ends[0]);
	int status = -1;
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		said += "signal " + std::to_string(WTERMSIG(status));
	else if (WEXITSTATUS(status) == 3)
		said += "hangs";
	return {status == 0, said};
}

struct Count {
	int done = 0, failed = 0;

	void note(const std::string &what, bool ok, const std::string &said)
	{
		done++;
		if (ok)
			return;
		failed++;
		std::printf("FAILED: %s: %s\n", what.c_str(), said.c_str());
		std::fflush(stdout);
	}
};

void play(const Setup &setup, const Setup &plain, const change::Scene &scene, unsigned seed,
	  Count &count)
{
	auto run = [&](const Setup &of) {
		return apart(of, 30, [&] { return scene.play(of, seed); });
	};
	auto [plain_ok, wanted] = run(plain);
	auto [ok, got] = run(setup);

	if (setup.verbose)
		std::printf("%s: %s\n", scene.name, got.c_str());
	count.note(std::string(scene.name) + " on TCP", plain_ok, wanted);
	count.note(scene.name, ok && (!plain_ok || wanted == got),
		   "'" + got + "', TCP: '" + wanted + "'");
}

int usage()
{
	std::fprintf(stderr,
		     "usage: ops_change [-s SEED] [-r ROUNDS] [-b BYTES] [-w FACTOR] [-x ROAD] "
		     "[-f FAMILY] [-v] ADDRESS [PLAIN [SCENE...]]\n");
	return 2;
}

int work(int argc, char **argv)
{
	Setup setup{.base = {},
		    .family = AF_INET,
		    .protocol = 0,
		    .slow = 1,
		    .road = {},
		    .verbose = false};
	unsigned seed = 1, rounds = 0, bytes = 0;
	int letter;
	Count count;

	while ((letter = getopt(argc, argv, "s:r:b:w:x:f:v")) != -1) {
		switch (letter) {
		case 's':
			seed = std::strtoul(optarg, nullptr, 0);
			break;
		case 'r':
			rounds = std::strtoul(optarg, nullptr, 0);
			break;
		case 'b':
			bytes = std::strtoul(optarg, nullptr, 0);
			break;
		case 'w':
			setup.slow = std::atoi(optarg);
			break;
		case 'x':
			setup.road = optarg;
			break;
		case 'f':
			setup.family = std::atoi(optarg);
			break;
		case 'v':
			setup.verbose = true;
			break;
		default:
			return usage();
		}
	}
	auto base = optind < argc ? ops::parse(argv[optind]) : std::nullopt;
	auto other = optind + 1 < argc ? ops::parse(argv[optind + 1]) : base;
	if (!base || !other)
		return usage();
	setup.base = *base;
	Setup plain = setup;
	plain.base = *other;
	plain.family = AF_INET;
	plain.road.clear();
	signal(SIGPIPE, SIG_IGN);
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	for (unsigned i = 0; i < rounds; i++) {
		auto [ok, said] = apart(setup, 30, [&] {
			change::transfer(setup, seed + i);
			return std::string();
		});
		count.note("round with seed " + std::to_string(seed + i), ok, said);
	}
	for (unsigned at = 0; at < bytes; at++) {
		auto [ok, said] = apart(setup, 20, [&] {
			change::change_at(setup, at, seed);
			return std::string();
		});
		count.note("change at byte " + std::to_string(at), ok, said);
	}
	for (const change::Scene &scene : change::scenes) {
		bool wanted = optind + 1 < argc && optind + 2 >= argc;

		if (scene.urgent && !setup.road.empty())
			continue;
		for (int i = optind + 2; i < argc; i++)
			wanted |= argv[i] == std::string_view(scene.name);
		if (wanted)
			play(setup, plain, scene, seed, count);
	}
	std::printf("%d passed, %d failed\n", count.done - count.failed, count.failed);
	return count.failed != 0;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		return work(argc, argv);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "ops_change: %s\n", error.what());
		return 1;
	}
}
