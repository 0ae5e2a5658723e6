// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What kdapltest prints: tables for a reader, JSON for a program. MB are 10^6 bytes. */
#include <cstdio>
#include <cstring>

#include "kdapltest.hpp"

namespace kdapltest {

namespace {

double seconds(const kdt_args &args)
{
	return args.ns / 1e9;
}

double each_second(const kdt_args &args, double what)
{
	return args.ns ? what / seconds(args) : 0;
}

double microseconds(__u64 ns)
{
	return ns / 1e3;
}

const char *api_name(const kdt_args &args)
{
	return args.api == KDT_VERBS ? "verbs" : "kDAPL";
}

std::string ops_text(const kdt_args &args)
{
	std::string text;

	for (unsigned int i = 0; i < args.nops; i++) {
		const kdt_op &op = args.ops[i];

		text += text.empty() ? "" : ", ";
		if (args.mode == KDT_TRANSACTIONS)
			text += op.server ? "server " : "client ";
		text += std::string(name_of(op.kind)) + " " + std::to_string(op.size);
		if (op.segments > 1)
			text += " x " + std::to_string(op.segments);
	}
	return text;
}

void print_client(const Options &options)
{
	const kdt_args &args = options.args;
	const kdt_latency &lat = args.latency;

	std::printf("%s of %s, %s to %s\n",
		    args.mode == KDT_PERFORMANCE ? "Performance" : "Transactions", api_name(args),
		    args.ia, options.host.c_str());
	std::printf("  operations    %s\n", ops_text(args).c_str());
	std::printf("  connections   %llu: %u threads, %u endpoints each", args.connections,
		    args.threads, args.eps);
	if (args.mode == KDT_PERFORMANCE)
		std::printf(", pipeline %u", args.pipeline);
	std::printf("\n\n%12s %10s %12s %12s %12s\n", "operations", "seconds", "op/s", "MB/s",
		    "MB compared");
	std::printf("%12llu %10.3f %12.1f %12.2f %12.2f\n\n", args.operations, seconds(args),
		    each_second(args, args.operations), each_second(args, args.bytes / 1e6),
		    args.verified / 1e6);
	std::printf("%12s %10s %10s %10s %10s %10s %10s %10s\n", "latency us", "min", "average",
		    "50 %", "90 %", "99 %", "99.9 %", "max");
	std::printf("%12s %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f\n", "",
		    microseconds(lat.min), microseconds(lat.average), microseconds(lat.median),
		    microseconds(lat.p90), microseconds(lat.p99), microseconds(lat.p999),
		    microseconds(lat.max));
}

void print_server(const kdt_args &args)
{
	std::printf(
		"Served on %s for %.1f s: %llu connections, %u failures, %llu operations, %.2f MB, "
		"%.2f MB compared\n",
		args.ia, seconds(args), args.connections, args.failed, args.operations,
		args.bytes / 1e6, args.verified / 1e6);
	if (args.failed)
		std::printf("The first failure: %s\n", args.what);
}

void print_limits(const kdt_args &args)
{
	std::printf("%-14s %12s %10s  %s\n", "object", "attribute", "made", "the next one");
	for (unsigned int i = 0; i < args.nlimits; i++) {
		const kdt_limit &limit = args.limits[i];

		std::printf("%-14s ", limit.object);
		if (limit.promised)
			std::printf("%12llu", limit.promised);
		else
			std::printf("%12s", "-");
		std::printf(" %10llu  %s%s\n", limit.reached, limit.clean ? "" : "NOT CLEAN: ",
			    limit.text[0] ? limit.text : "was not asked for");
	}
}

void print_problem(const kdt_args &args)
{
	if (args.error)
		std::printf("failed: %s%s(%s)\n", args.what, args.what[0] ? " " : "",
			    std::strerror(-args.error));
	else if (args.interrupted && args.mode != KDT_SERVE)
		std::printf("interrupted\n");
}

std::string quoted(const char *text)
{
	std::string out = "\"";

	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			out += '\\';
		if (static_cast<unsigned char>(*text) >= ' ')
			out += *text;
	}
	return out + "\"";
}

void json_ops(const kdt_args &args)
{
	std::printf("\"ops\": [");
	for (unsigned int i = 0; i < args.nops; i++) {
		const kdt_op &op = args.ops[i];

		std::printf(R"(%s{"by": "%s", "op": "%s", "size": %u, "segments": %u})",
			    i ? ", " : "", op.server ? "server" : "client", name_of(op.kind),
			    op.size, op.segments);
	}
	std::printf("], ");
}

void json_limits(const kdt_args &args)
{
	std::printf("\"limits\": [");
	for (unsigned int i = 0; i < args.nlimits; i++) {
		const kdt_limit &limit = args.limits[i];

		std::printf("%s{\"object\": %s, \"attribute\": %llu, \"made\": %llu, \"refused\": "
			    "%s, \"clean\": %s, "
			    "\"text\": %s}",
			    i ? ", " : "", quoted(limit.object).c_str(), limit.promised,
			    limit.reached, limit.refused ? "true" : "false",
			    limit.clean ? "true" : "false", quoted(limit.text).c_str());
	}
	std::printf("], ");
}

} // namespace

const char *name_of(unsigned int kind)
{
	static const char *const names[] = {"SR", "RW", "RR"};

	return kind < 3 ? names[kind] : "?";
}

void print_table(const Options &options)
{
	const kdt_args &args = options.args;

	/* without a connection there is only the reason to print */
	bool nothing = args.error && !args.connections;

	if (args.mode == KDT_LIMITS)
		print_limits(args);
	else if (args.mode == KDT_SERVE && !nothing)
		print_server(args);
	else if (!nothing)
		print_client(options);
	print_problem(args);
}

void print_json(const Options &options)
{
	const kdt_args &args = options.args;
	const kdt_latency &lat = args.latency;
	static const char *const modes[] = {"server", "transactions", "performance", "limits"};

	std::printf("{\"test\": \"%s\", \"api\": \"%s\", \"ia\": %s, \"threads\": %u, \"eps\": %u, "
		    "\"pipeline\": %u, ",
		    modes[args.mode], args.api == KDT_VERBS ? "verbs" : "kdapl",
		    quoted(args.ia).c_str(), args.threads, args.eps, args.pipeline);
	json_ops(args);
	json_limits(args);
	std::printf("\"connections\": %llu, \"failed\": %u, \"operations\": %llu, \"bytes\": %llu, "
		    "\"verified_bytes\": %llu, \"seconds\": %.9f, \"operations_per_s\": %.3f, "
		    "\"mb_per_s\": %.6f, ",
		    args.connections, args.failed, args.operations, args.bytes, args.verified,
		    seconds(args), each_second(args, args.operations),
		    each_second(args, args.bytes / 1e6));
	std::printf("\"latency_us\": {\"min\": %.3f, \"average\": %.3f, \"50\": %.3f, \"90\": "
		    "%.3f, \"99\": %.3f, "
		    "\"99.9\": %.3f, \"max\": %.3f}, ",
		    microseconds(lat.min), microseconds(lat.average), microseconds(lat.median),
		    microseconds(lat.p90), microseconds(lat.p99), microseconds(lat.p999),
		    microseconds(lat.max));
	std::printf("\"interrupted\": %s, \"error\": %d, \"what\": %s}\n",
		    args.interrupted ? "true" : "false", args.error, quoted(args.what).c_str());
}

} // namespace kdapltest
