/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The common part of the test programs: owners of verbs objects, one side of an rdma_cm
 * connection, waits with a limit. A failure is an exception.
 */
#ifndef KRDMA_TEST_RDMA_HPP
#define KRDMA_TEST_RDMA_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace rdma {

using namespace std::chrono_literals;

/* time limit of one step; long, because the machine may be emulated */
inline constexpr std::chrono::seconds patience = 60s;

/** struct Where - a place in a test; std::source_location, which clang 14 does not have */
struct Where {
	const char *file;
	int line;

	static constexpr Where current(const char *file = __builtin_FILE(),
				       int line = __builtin_LINE())
	{
		return {file, line};
	}
};

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string &what, Where where = Where::current());
[[noreturn]] void fail_errno(const std::string &what, int err, Where where = Where::current());

inline void require(bool ok, const char *what, Where where = Where::current())
{
	if (!ok)
		fail(what, where);
}

/* The values must be equal. If they are not, the Failure has both. */
template <typename A, typename B>
void require_eq(const A &got, const B &wanted, const char *what, Where where = Where::current())
{
	if (!(got == wanted))
		fail(std::string{what} + ": got " + std::to_string(got) + ", wanted " +
			     std::to_string(wanted),
		     where);
}

/* Check a completion. The Failure has its contents and the Terminate code. */
void require_status(const ibv_wc &wc, ibv_wc_status wanted, const char *what,
		    Where where = Where::current());

/* for calls that return a pointer and errno, or -1 and errno */
template <typename T> T *must(T *pointer, const char *what, Where where = Where::current())
{
	if (!pointer)
		fail_errno(what, errno, where);
	return pointer;
}

inline void must(int result, const char *what, Where where = Where::current())
{
	if (result)
		fail_errno(what, result < 0 ? errno : result, where);
}

template <auto Destroy> struct Destroyer {
	template <typename T> void operator()(T *object) const
	{
		Destroy(object);
	}
};

template <typename T, auto Destroy> using Owned = std::unique_ptr<T, Destroyer<Destroy>>;

using Pd = Owned<ibv_pd, ibv_dealloc_pd>;
using Cq = Owned<ibv_cq, ibv_destroy_cq>;
using Mr = Owned<ibv_mr, ibv_dereg_mr>;
using Srq = Owned<ibv_srq, ibv_destroy_srq>;
using Qp = Owned<ibv_qp, ibv_destroy_qp>;
using Channel = Owned<ibv_comp_channel, ibv_destroy_comp_channel>;
using CmId = Owned<rdma_cm_id, rdma_destroy_ep>;

/** class Memory - a registered buffer */
class Memory {
public:
	Memory(ibv_pd *pd, std::size_t size, int access, std::byte fill = std::byte{0});

	[[nodiscard]] std::byte *data()
	{
		return bytes_.data();
	}
	[[nodiscard]] std::span<std::byte> span()
	{
		return bytes_;
	}
	[[nodiscard]] std::uint64_t address(std::size_t offset = 0) const
	{
		return reinterpret_cast<std::uintptr_t>(bytes_.data()) + offset;
	}
	[[nodiscard]] ibv_mr *mr() const
	{
		return mr_.get();
	}
	[[nodiscard]] std::uint32_t key() const
	{
		return mr_->rkey;
	}
	[[nodiscard]] ibv_sge sge(std::size_t offset, std::size_t length) const
	{
		return {address(offset), static_cast<std::uint32_t>(length), mr_->lkey};
	}
	[[nodiscard]] ibv_sge sge() const
	{
		return sge(0, bytes_.size());
	}
	/* every byte has that value */
	[[nodiscard]] bool is_all(std::byte value) const;
	void deregister()
	{
		mr_.reset();
	}

private:
	std::vector<std::byte> bytes_;
	Mr mr_;
};

inline constexpr int all_access =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

/** class Queue - a CQ with its event channel */
class Queue {
public:
	/* With @wc_flags, IBV_WC_EX_*, the queue is extended. */
	Queue(ibv_context *context, int depth, int vector = 0, std::uint64_t wc_flags = 0);

	[[nodiscard]] ibv_cq *cq() const
	{
		return cq_.get();
	}
	/* only for an extended queue */
	[[nodiscard]] ibv_cq_ex *cq_ex() const
	{
		return reinterpret_cast<ibv_cq_ex *>(cq_.get());
	}
	[[nodiscard]] std::optional<ibv_wc> poll();
	/* Sleep until an event comes; Failure if none comes in time. */
	[[nodiscard]] ibv_wc wait(Where where = Where::current());
	/* Does an event of the channel come within that time? */
	[[nodiscard]] bool event(std::chrono::milliseconds limit);
	void arm(bool solicited_only);

private:
	Channel channel_;
	Cq cq_;
};

/** struct SideOptions - how to make one side of a connection */
struct SideOptions {
	ibv_qp_cap cap{.max_send_wr = 16,
		       .max_recv_wr = 16,
		       .max_send_sge = 4,
		       .max_recv_sge = 4,
		       .max_inline_data = 0};
	int cqe = 64;
	int vector = 0;             /* completion vector */
	std::uint64_t wc_flags = 0; /* of extended CQs */
	bool signal_all = false;
	ibv_pd *pd = nullptr; /* default: one of its own */
	ibv_srq *srq = nullptr;
	std::uint64_t send_ops = 0; /* IBV_QP_EX_WITH_* */
};

/** class Side - an rdma_cm id with its QP */
class Side {
public:
	Side(CmId id, const SideOptions &options);
	~Side();
	Side(const Side &) = delete;
	Side &operator=(const Side &) = delete;

	[[nodiscard]] ibv_qp *qp() const
	{
		return id_->qp;
	}
	[[nodiscard]] ibv_pd *pd() const
	{
		return pd_;
	}
	[[nodiscard]] ibv_context *context() const
	{
		return id_->verbs;
	}
	[[nodiscard]] rdma_cm_id *id() const
	{
		return id_.get();
	}
	[[nodiscard]] const ibv_qp_cap &cap() const
	{
		return cap_;
	}

	void connect();
	void accept();
	/* Has the peer, or the stream, ended the connection? */
	void wait_for_disconnect(Where where = Where::current());

	/* all return what the verb returned */
	int post_recv(std::span<const ibv_sge> sges, std::uint64_t wr_id = 0);
	int post_send(std::span<const ibv_sge> sges, unsigned int flags = IBV_SEND_SIGNALED,
		      std::uint64_t wr_id = 0);
	int post_rdma(ibv_wr_opcode opcode, std::span<const ibv_sge> sges, std::uint64_t address,
		      std::uint32_t rkey, unsigned int flags = IBV_SEND_SIGNALED,
		      std::uint64_t wr_id = 0);

	[[nodiscard]] ibv_qp_state state() const;
	void wait_for_state(ibv_qp_state wanted, Where where = Where::current()) const;

private:
	CmId id_;
	Pd own_pd_;
	ibv_pd *pd_;

public:
	Queue sends;
	Queue recvs;

private:
	ibv_qp_cap cap_{};
};

/* address: of this side for a listener, of the peer for a client */
[[nodiscard]] CmId make_listener(const char *host, const char *port);
[[nodiscard]] CmId make_client(const char *host, const char *port);
[[nodiscard]] CmId next_request(rdma_cm_id *listener);

/* an asynchronous event of the device within that time, acknowledged */
[[nodiscard]] std::optional<ibv_async_event> async_event(ibv_context *context,
							 std::chrono::milliseconds limit);

/* Wait until it is true; Failure if it does not become true in time. */
void wait_until(const std::function<bool()> &condition, const char *what,
		Where where = Where::current());

} /* namespace rdma */

#endif /* KRDMA_TEST_RDMA_HPP */
