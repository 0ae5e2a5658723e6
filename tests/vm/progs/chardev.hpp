/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Use of /dev/krdma with its ABI alone: an open file, commands, events. There are also two
 * connected queue pairs of this host. All their calls go through the kernel.
 */
#ifndef KRDMA_TEST_CHARDEV_HPP
#define KRDMA_TEST_CHARDEV_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <krdma/krdma-abi.h>

#include "rdma.hpp"

namespace chardev {

/** class Event - a record that was read */
class Event {
public:
	/*
	 * the members of krdma_conn_event without the private data, which cannot be copied with
	 * it
	 */
	struct Conn {
		std::uint32_t conn;
		std::uint16_t ird;
		std::uint16_t ord;
		krdma_addr local;
		krdma_addr remote;
	};

	explicit Event(std::span<const std::byte> record);

	[[nodiscard]] const krdma_event &base() const
	{
		return base_;
	}
	/* private data of a connection's event */
	[[nodiscard]] const Conn &conn() const
	{
		return conn_;
	}
	[[nodiscard]] std::span<const std::byte> private_data() const
	{
		return private_data_;
	}

private:
	krdma_event base_{};
	Conn conn_{};
	std::vector<std::byte> private_data_;
};

/** class File - an open /dev/krdma */
class File {
public:
	File();
	/* use a file that was opened elsewhere */
	explicit File(int fd) : fd_{fd}
	{}
	~File();
	File(const File &) = delete;
	File &operator=(const File &) = delete;
	File(File &&) = delete;
	File &operator=(File &&) = delete;

	[[nodiscard]] int fd() const
	{
		return fd_;
	}

	/* Issue a command. Return: 0 or its errno. */
	template <typename T> int try_call(unsigned long number, T &cmd) const
	{
		cmd.size = sizeof(cmd);
		return raw(number, &cmd);
	}

	/* Issue a command that must succeed. */
	template <typename T>
	void call(unsigned long number, T &cmd, rdma::Where where = rdma::Where::current()) const
	{
		const int err = try_call(number, cmd);

		if (err)
			rdma::fail_errno("ioctl " + std::to_string(number & 0xff), err, where);
	}

	int raw(unsigned long number, void *cmd) const;
	[[nodiscard]] int try_destroy(std::uint32_t handle) const;
	void destroy(std::uint32_t handle, rdma::Where where = rdma::Where::current()) const;

	/* Wait for the next record and read it. */
	[[nodiscard]] std::optional<Event> next(std::chrono::milliseconds limit) const;
	Event expect(std::uint32_t type, rdma::Where where = rdma::Where::current()) const;
	/* No record may wait. */
	void expect_nothing(rdma::Where where = rdma::Where::current()) const;

	[[nodiscard]] krdma_usage usage() const;

private:
	int fd_;
};

krdma_addr parse_address(const char *text, std::uint16_t port = 0);
/* Find the RNIC with that address. */
std::uint32_t find_rnic(const File &file, const krdma_addr &local);

/* Fail if @got is not @wanted, and name both errnos. */
void require_errno(int got, int wanted, const std::string &what,
		   rdma::Where where = rdma::Where::current());

/** class Memory - a registered buffer */
class Memory {
public:
	Memory(const File &file, std::uint32_t pd, std::size_t size, std::uint32_t access);

	std::vector<std::byte> &data()
	{
		return data_;
	}
	[[nodiscard]] std::uint64_t address(std::size_t offset = 0) const
	{
		return reinterpret_cast<std::uintptr_t>(data_.data()) + offset;
	}
	[[nodiscard]] std::uint32_t stag() const
	{
		return stag_;
	}
	[[nodiscard]] std::uint32_t handle() const
	{
		return handle_;
	}
	[[nodiscard]] krdma_sge sge(std::size_t offset, std::uint32_t length) const
	{
		return {address(offset), length, stag_};
	}

private:
	std::vector<std::byte> data_;
	std::uint32_t stag_ = 0;
	std::uint32_t handle_ = 0;
};

/** struct Context - a context with a PD and a CQ */
struct Context {
	Context(const File &file, const char *address, std::uint32_t flags = KRDMA_SLOW);

	std::uint32_t index;
	std::uint32_t context;
	std::uint32_t pd;
	std::uint32_t cq;
};

std::uint32_t make_cq(const File &file, std::uint32_t context, std::uint32_t depth,
		      std::uint64_t cookie = 0);
krdma_qp make_qp(const File &file, const Context &ctx, std::uint32_t srq = 0,
		 std::uint64_t cookie = 0);
krdma_listen make_listener(const File &file, const Context &ctx, const char *address,
			   std::uint32_t backlog = 8, std::uint64_t cookie = 0);
krdma_conn start_connect(const File &file, std::uint32_t qp, const krdma_addr &remote,
			 std::span<const std::byte> private_data = {}, std::uint64_t cookie = 0);
/* 0 or the errno */
int accept_conn(const File &file, std::uint32_t conn, std::uint32_t qp,
		std::span<const std::byte> private_data = {}, std::uint64_t cookie = 0);

/** struct Ends - two connected queue pairs of a context, client and server */
struct Ends {
	Ends(const File &file, const Context &ctx, const char *address, std::uint32_t srq = 0);
	/* Connect existing queue pairs through an existing listener. */
	Ends(const File &file, const krdma_qp &client, const krdma_qp &server,
	     const krdma_listen &listener);

	krdma_qp client;
	krdma_qp server;
	std::uint32_t client_conn = 0;
	std::uint32_t server_conn = 0;

private:
	void connect(const File &file, const krdma_listen &listener);
};

/* Post a request. Return: 0 or the errno. */
int post_send(const File &file, std::uint32_t qp, krdma_wr wr, std::span<const krdma_sge> sges);
int post_recv(const File &file, unsigned long number, std::uint32_t queue, std::uint64_t wr_id,
	      std::span<const krdma_sge> sges);
/* Wait for the next completion. */
krdma_wc next_wc(const File &file, std::uint32_t cq, rdma::Where where = rdma::Where::current());

/* Issue a command by CALL. Return: 0 or its errno. */
template <typename T>
int call_for(const File &file, unsigned long number, T &cmd, krdma_error &error)
{
	krdma_call call{};

	cmd.size = sizeof(cmd);
	call.size = sizeof(call);
	call.command = static_cast<std::uint32_t>(number);
	call.argument = reinterpret_cast<std::uintptr_t>(&cmd);
	const int err = file.raw(KRDMA_IOC_CALL, &call);

	error = call.error;
	return err;
}

/* The command must be refused with that errno and that record. */
template <typename T>
void refused(const File &file, unsigned long number, T cmd, int wanted, krdma_cause cause,
	     krdma_unit unit, std::uint64_t value, const std::string &what,
	     rdma::Where where = rdma::Where::current())
{
	krdma_error error{};

	require_errno(call_for(file, number, cmd, error), wanted, what, where);
	rdma::require_eq(error.status, static_cast<std::uint32_t>(wanted),
			 (what + ": errno").c_str(), where);
	rdma::require_eq(error.cause, static_cast<std::uint32_t>(cause), (what + ": cause").c_str(),
			 where);
	rdma::require_eq(error.unit, static_cast<std::uint32_t>(unit), (what + ": unit").c_str(),
			 where);
	rdma::require_eq(error.value, value, (what + ": value").c_str(), where);
}

krdma_rnic_query query(const File &file, std::uint32_t index);

/* Run @action in a child, whose failures are those of the caller. */
void in_child(const std::function<void()> &action);
/* Run @action in a child without privilege, which may lock 64 KiB of memory. */
void as_nobody(const std::function<void()> &action);

struct Check {
	const char *name;
	void (*run)(const char *address);
};

extern const std::vector<Check> error_checks;
extern const std::vector<Check> cause_checks;
extern const std::vector<Check> data_checks;
extern const std::vector<Check> conn_checks;
extern const std::vector<Check> shared_checks;

/* private data up to the limit of an MPA revision, and beyond (chardev_conns.cpp) */
void private_data(const char *address);

} /* namespace chardev */

#endif /* KRDMA_TEST_CHARDEV_HPP */
