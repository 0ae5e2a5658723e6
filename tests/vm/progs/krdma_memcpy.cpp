/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The speed of memory, for "make bench". The program copies from one buffer to another, a
 * given number of times, and prints a line for each length: bytes, copies, and 10^6 bytes a
 * second. Both buffers were touched before.
 *
 * -b gives the number of messages that the buffers hold, as in a program with that many
 * outstanding messages. -w copies by words of eight bytes, eight at a time, as the kernel does
 * on a CPU without fast "rep movsb". libc uses vector registers. The kernel does not.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <getopt.h>

namespace {

struct Options {
	std::vector<std::size_t> sizes;
	std::size_t count = 1000;
	std::size_t places = 1;
	bool words = false;
};

[[noreturn]] void usage()
{
	std::fputs("krdma_memcpy -s OCTETS [-s OCTETS...] [-n COPIES] [-b PLACES] [-w]\n", stderr);
	std::exit(2);
}

Options parse(int argc, char **argv)
{
	Options options;

	for (int c; (c = getopt(argc, argv, "s:n:b:w")) != -1;) {
		const std::size_t number = optarg ? std::strtoul(optarg, nullptr, 0) : 0;

		if (c == '?' || (c != 'w' && !number))
			usage();
		if (c == 'w')
			options.words = true;
		else if (c == 's')
			options.sizes.push_back(number);
		else if (c == 'n')
			options.count = number;
		else
			options.places = number;
	}
	if (optind != argc || options.sizes.empty())
		usage();
	return options;
}

/* keeps the compiler from removing the copy */
void used(const void *memory)
{
	asm volatile("" : : "r"(memory) : "memory");
}

/* the code of arch/x86/lib/copy_user_64.S for each 64 bytes */
void copy_words(char *to, const char *from, std::size_t size)
{
	constexpr std::size_t step = 64;
	std::size_t at = 0;

	for (; at + step <= size; at += step)
		asm volatile("movq (%1), %%r8\n movq 8(%1), %%r9\n movq 16(%1), %%r10\n"
			     "movq 24(%1), %%r11\n movq %%r8, (%0)\n movq %%r9, 8(%0)\n"
			     "movq %%r10, 16(%0)\n movq %%r11, 24(%0)\n movq 32(%1), %%r8\n"
			     "movq 40(%1), %%r9\n movq 48(%1), %%r10\n movq 56(%1), %%r11\n"
			     "movq %%r8, 32(%0)\n movq %%r9, 40(%0)\n movq %%r10, 48(%0)\n"
			     "movq %%r11, 56(%0)\n"
			     :
			     : "r"(to + at), "r"(from + at)
			     : "r8", "r9", "r10", "r11", "memory");
	std::memcpy(to + at, from + at, size - at);
}

double seconds_of(std::size_t size, const Options &options)
{
	std::vector<char> from(size * options.places, 'a');
	std::vector<char> to(size * options.places, 'b');
	const auto begin = std::chrono::steady_clock::now();

	for (std::size_t i = 0; i < options.count; i++) {
		const std::size_t at = i % options.places * size;

		if (options.words)
			copy_words(to.data() + at, from.data() + at, size);
		else
			std::memcpy(to.data() + at, from.data() + at, size);
		used(to.data());
	}
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} /* namespace */

int main(int argc, char **argv)
{
	const Options options = parse(argc, argv);

	for (const std::size_t size : options.sizes) {
		const double seconds = seconds_of(size, options);
		const double octets =
			static_cast<double>(size) * static_cast<double>(options.count);

		std::printf("%zu %zu %.3f\n", size, options.count, octets / seconds / 1e6);
	}
	return 0;
}
