/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The verbs: what a program makes on an RNIC and works with. Copies of an object are the
 * same object, which ends with the last one; each keeps what it was made from, so the order
 * of destruction is free. Numbers of the verbs (access, states, opcodes, statuses) are those
 * of <krdma/krdma-abi.h>, with the names below.
 */
#ifndef KRDMA_VERBS_HPP
#define KRDMA_VERBS_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <arpa/inet.h>

#include <krdma/event.hpp>
#include <krdma/krdma-abi.h>
#include <krdma/session.hpp>

namespace krdma {

namespace access {
inline constexpr std::uint32_t local_write = KRDMA_ACCESS_LOCAL_WRITE;
inline constexpr std::uint32_t remote_write = KRDMA_ACCESS_REMOTE_WRITE;
inline constexpr std::uint32_t remote_read = KRDMA_ACCESS_REMOTE_READ;
inline constexpr std::uint32_t remote_atomic = KRDMA_ACCESS_REMOTE_ATOMIC;
inline constexpr std::uint32_t window_bind = KRDMA_ACCESS_MW_BIND;
inline constexpr std::uint32_t zero_based = KRDMA_ACCESS_ZERO_BASED;
} /* namespace access */

/** What a completion is of. */
enum class Opcode : std::uint32_t {
	send = KRDMA_WC_SEND, /**< with immediate data or invalidation, too */
	write = KRDMA_WC_RDMA_WRITE,
	read = KRDMA_WC_RDMA_READ,
	compare_swap = KRDMA_WC_COMP_SWAP,
	fetch_add = KRDMA_WC_FETCH_ADD,
	bind = KRDMA_WC_BIND_MW,
	invalidate = KRDMA_WC_LOCAL_INV,
	receive = KRDMA_WC_RECV,
	receive_write_immediate = KRDMA_WC_RECV_RDMA_WITH_IMM, /**< taken by an RDMA Write */
};

/** How it ended; another number is a later provider's. */
enum class Status : std::uint32_t {
	success = KRDMA_STATUS_SUCCESS,
	local_length_error = KRDMA_STATUS_LOC_LEN_ERR, /**< a receive was too short */
	local_operation_error = KRDMA_STATUS_LOC_QP_OP_ERR,
	local_protection_error = KRDMA_STATUS_LOC_PROT_ERR, /**< of this side's memory */
	flushed = KRDMA_STATUS_WR_FLUSH_ERR,                /**< the connection had ended before */
	bind_error = KRDMA_STATUS_MW_BIND_ERR,              /**< or of an invalidation */
	bad_response = KRDMA_STATUS_BAD_RESP_ERR,
	local_access_error = KRDMA_STATUS_LOC_ACCESS_ERR,
	remote_invalid_request = KRDMA_STATUS_REM_INV_REQ_ERR, /**< the peer has no use for it */
	remote_access_error = KRDMA_STATUS_REM_ACCESS_ERR,     /**< of the peer's memory */
	remote_operation_error = KRDMA_STATUS_REM_OP_ERR,
	retries_exceeded = KRDMA_STATUS_RETRY_EXC_ERR,
	receiver_not_ready = KRDMA_STATUS_RNR_RETRY_EXC_ERR,
	remote_abort = KRDMA_STATUS_REM_ABORT_ERR,
	fatal_error = KRDMA_STATUS_FATAL_ERR,
	response_timeout = KRDMA_STATUS_RESP_TIMEOUT_ERR,
	general_error = KRDMA_STATUS_GENERAL_ERR,
};

/** As query().state has it, and of it what change_state() takes. */
enum class QueueState : std::uint32_t {
	reset = KRDMA_QP_STATE_RESET, /**< a wish: it is init then */
	init = KRDMA_QP_STATE_INIT,   /**< new, or reset: not connected yet */
	rts = KRDMA_QP_STATE_RTS,     /**< connected; a wish after QueuePair::drain() alone */
	sqd = KRDMA_QP_STATE_SQD,     /**< what was posted leaves, then error; or drain() */
	error = KRDMA_QP_STATE_ERR,   /**< the connection has ended */
};

/** How and through what a context works. */
struct ContextOptions {
	bool slow{false}; /**< through the kernel for every call, even if there is a user library */
};

namespace detail {
class ContextState;
class PdState;
class CqState;
class SrqState;
class QpState;
class MrState;
class MwState;
} /* namespace detail */

/** Use of an RNIC. */
class Context {
public:
	explicit Context(const Device &device, ContextOptions options = {});

	/** The data path is in the provider's user library. */
	[[nodiscard]] bool fast() const noexcept;
	/** Why it is not, for people to read; empty when fast. */
	[[nodiscard]] const std::string &why_slow() const noexcept;
	[[nodiscard]] const Device &device() const noexcept;
	/** Asynchronous events of the RNIC. */
	[[nodiscard]] const EventSource &events() const noexcept;

	/** The kernel's number, for Session::ri_syscall(). */
	[[nodiscard]] std::uint32_t handle() const noexcept;

	[[nodiscard]] const std::shared_ptr<detail::ContextState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::ContextState> state_;
};

/** Keeps users' memory and queues apart. */
class ProtectionDomain {
public:
	explicit ProtectionDomain(const Context &context);
	/** As "rdma resource show pd" has it. */
	[[nodiscard]] std::uint32_t id() const noexcept;

	/** The kernel's number, for Session::ri_syscall(). */
	[[nodiscard]] std::uint32_t handle() const noexcept;

	[[nodiscard]] const std::shared_ptr<detail::PdState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::PdState> state_;
};

/** A completion; the same octets as struct krdma_wc. */
class Completion {
public:
	[[nodiscard]] std::uint64_t id() const noexcept
	{
		return raw_.wr_id;
	}
	[[nodiscard]] bool ok() const noexcept
	{
		return raw_.status == KRDMA_STATUS_SUCCESS;
	}
	/** As a number: raw().status. */
	[[nodiscard]] Status status() const noexcept
	{
		return Status{raw_.status};
	}
	/** "success", "flushed" ... */
	[[nodiscard]] std::string_view status_text() const noexcept;
	/** Only when ok(). As a number: raw().opcode. */
	[[nodiscard]] Opcode opcode() const noexcept
	{
		return Opcode{raw_.opcode};
	}
	/** It is of a receive. Only when ok(). */
	[[nodiscard]] bool received() const noexcept
	{
		return (raw_.opcode & KRDMA_WC_RECV) != 0;
	}
	/**
	 * The RNIC's own code of a failure, 0: none. Of the software RNIC: the Terminate that ended
	 * the connection (krdma-abi.md), which tells what the peer refused.
	 */
	[[nodiscard]] std::uint32_t vendor_error() const noexcept
	{
		return raw_.vendor_err;
	}
	/** Octets received or read. */
	[[nodiscard]] std::uint32_t length() const noexcept
	{
		return raw_.byte_len;
	}
	[[nodiscard]] std::uint32_t queue_pair() const noexcept
	{
		return raw_.qp;
	}
	/** Immediate data in the host's byte order, if it came with some. */
	[[nodiscard]] std::optional<std::uint32_t> immediate() const noexcept
	{
		return raw_.flags & KRDMA_WC_WITH_IMM ? std::optional{ntohl(raw_.imm)}
						      : std::nullopt;
	}
	/** STag that the peer invalidated, if it did. */
	[[nodiscard]] std::optional<std::uint32_t> invalidated() const noexcept
	{
		return raw_.flags & KRDMA_WC_WITH_INV ? std::optional{raw_.imm} : std::nullopt;
	}
	[[nodiscard]] const krdma_wc &raw() const noexcept
	{
		return raw_;
	}

private:
	krdma_wc raw_{};
};

static_assert(sizeof(Completion) == sizeof(krdma_wc));

struct CompletionQueueOptions {
	std::uint32_t depth{256};
	std::uint32_t event_handler{0}; /**< completion event handler (vector) */
	bool times{false}; /**< of each completion; EOPNOTSUPP: not through the kernel */
};

/**
 * When a completion was added: by the RNIC's clock, of Attributes::raw.clock_khz, and by
 * CLOCK_REALTIME in nanoseconds, 0 if that is not known. The software RNIC's clock is
 * CLOCK_MONOTONIC.
 */
using CompletionTime = krdma_wc_time;

/** Where work requests complete. */
class CompletionQueue {
public:
	explicit CompletionQueue(const Context &context, CompletionQueueOptions options = {});

	/** Takes what is there; the part of @p to that was filled. No system call when fast. */
	std::span<Completion> poll(std::span<Completion> to) const;
	/**
	 * The same with their times, as many as there is room for in both.
	 * @throws std::system_error EINVAL: the queue was not made to tell them.
	 */
	std::span<Completion> poll(std::span<Completion> to, std::span<CompletionTime> times) const;
	/**
	 * Asks for one event at the next completion. True: something may wait already; poll
	 * before waiting.
	 */
	bool arm(bool solicited_only = false) const;
	/**
	 * The next completion: polled, then armed and waited for; nothing after the time.
	 * @throws std::system_error EIO: the queue has failed, as events() tells, and is empty;
	 *         ENODEV: the RNIC is gone.
	 */
	[[nodiscard]] std::optional<Completion>
	wait(std::chrono::milliseconds timeout = forever) const;

	[[nodiscard]] std::uint32_t depth() const noexcept;
	/** In use or not. */
	void resize(std::uint32_t depth) const;
	/** An event after so many completions or so long after the first; 0 and 0: at each. */
	void moderate(std::uint16_t count, std::uint16_t period_us) const;
	/** KRDMA_EVENT_COMPLETION after arm(), KRDMA_EVENT_ASYNC. */
	[[nodiscard]] const EventSource &events() const noexcept;

	/** The kernel's number, for Session::ri_syscall(). */
	[[nodiscard]] std::uint32_t handle() const noexcept;

	[[nodiscard]] const std::shared_ptr<detail::CqState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::CqState> state_;
};

/** Octets of registered memory, for work requests. */
struct Slice {
	std::uint64_t address;
	std::uint32_t length;
	std::uint32_t key;
};

static_assert(sizeof(Slice) == sizeof(krdma_sge));

/** What a request is of: a slice, {several, slices}, any sequence of them, or {}: none. */
class Slices {
public:
	constexpr Slices() noexcept = default;
	constexpr Slices(const Slice &slice) noexcept : slices_{&slice, 1}
	{}
	/* the call that they are for is over before they are */
	constexpr Slices(std::initializer_list<Slice> slices) noexcept
		: slices_{slices.begin(), slices.size()}
	{}
	constexpr Slices(const Slice *first, std::size_t count) noexcept : slices_{first, count}
	{}
	template <typename Sequence>
	requires std::convertible_to<const Sequence &, std::span<const Slice>>
	constexpr Slices(const Sequence &sequence) noexcept : slices_{sequence}
	{}

	[[nodiscard]] constexpr const Slice *data() const noexcept
	{
		return slices_.data();
	}
	[[nodiscard]] constexpr std::size_t size() const noexcept
	{
		return slices_.size();
	}

private:
	std::span<const Slice> slices_;
};

/** Memory that an RNIC may use. */
class MemoryRegion {
public:
	/**
	 * Memory of this process, which stays where it is while the region lives. Tagged offsets
	 * are its addresses, or begin at 0 with access::zero_based.
	 */
	MemoryRegion(const ProtectionDomain &pd, std::span<std::byte> memory, std::uint32_t access);
	/** The same, but tagged offsets begin at @p iova (at 0 with access::zero_based). */
	MemoryRegion(const ProtectionDomain &pd, std::span<std::byte> memory, std::uint64_t iova,
		     std::uint32_t access);
	/**
	 * Octets of a dma-buf, which the region keeps, not the descriptor; tagged offsets begin
	 * at @p iova (at 0 with access::zero_based).
	 */
	MemoryRegion(const ProtectionDomain &pd, int dmabuf, std::uint64_t offset,
		     std::uint64_t length, std::uint64_t iova, std::uint32_t access);

	/** For local use and for the peer. Changes with change_...(). */
	[[nodiscard]] std::uint32_t stag() const noexcept;
	[[nodiscard]] std::uint64_t address() const noexcept;
	[[nodiscard]] std::uint64_t length() const noexcept;
	/** All of it, or a part. @throws std::out_of_range */
	[[nodiscard]] Slice slice() const;
	[[nodiscard]] Slice slice(std::uint64_t offset, std::uint32_t length) const;

	/** The same region with other rights; its tagged offsets begin where they did. */
	void change_access(std::uint32_t access) const;
	/** The same region with other memory. */
	void change_memory(std::span<std::byte> memory) const;
	/** The same, but tagged offsets begin at @p iova. */
	void change_memory(std::span<std::byte> memory, std::uint64_t iova) const;
	/** The same region in another domain of its context. */
	void change_domain(const ProtectionDomain &pd) const;

	/** The kernel's number, for Session::ri_syscall(). */
	[[nodiscard]] std::uint32_t handle() const noexcept;

	[[nodiscard]] const std::shared_ptr<detail::MrState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::MrState> state_;
};

/**
 * Names a part of a region that a work request binds it to, for the peer. It keeps the
 * region of the last bind that was posted. The one before that, if its handles have ended,
 * is the kernel's until that bind is done, and when it fails until the window ends.
 */
class MemoryWindow {
public:
	/** @param type 1 or 2 */
	explicit MemoryWindow(const ProtectionDomain &pd, std::uint32_t type = 2);

	[[nodiscard]] std::uint32_t stag() const noexcept;
	/** The same with the next key: what a bind gives it. */
	[[nodiscard]] std::uint32_t next_stag() const noexcept;
	[[nodiscard]] std::uint32_t handle() const noexcept;

	[[nodiscard]] const std::shared_ptr<detail::MwState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::MwState> state_;
};

struct ReceiveQueueOptions {
	std::uint32_t max_wr{256};
	std::uint32_t max_sge{1};
	std::uint32_t limit{0}; /**< an event when one is taken and fewer are left; 0: none */
};

/** Receives that several queue pairs share. */
class SharedReceiveQueue {
public:
	explicit SharedReceiveQueue(const ProtectionDomain &pd, ReceiveQueueOptions options = {});

	void post(std::uint64_t id, Slices slices) const;
	/** Requests in the ABI's own form, as QueuePair::post_receive(). */
	[[nodiscard]] std::size_t post(std::span<const krdma_wr> requests,
				       std::error_code &error) const noexcept;
	void resize(std::uint32_t max_wr) const;
	/** For one event; it disarms itself. */
	void set_limit(std::uint32_t limit) const;
	[[nodiscard]] krdma_srq_attr query() const;
	[[nodiscard]] const EventSource &events() const noexcept;

	/** The kernel's number, for Session::ri_syscall(). */
	[[nodiscard]] std::uint32_t handle() const noexcept;

	[[nodiscard]] const std::shared_ptr<detail::SrqState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::SrqState> state_;
};

struct QueuePairOptions {
	std::uint32_t max_send_wr{128};
	std::uint32_t max_recv_wr{128};
	std::uint32_t max_send_sge{1};
	std::uint32_t max_recv_sge{1};
	std::uint32_t max_inline{0};
	bool signal_all{false}; /**< every send request completes, wished or not */
	const SharedReceiveQueue *receives{nullptr}; /**< which the queue pair keeps */
};

/** What may be said of any send request. */
struct SendOptions {
	bool signaled{true};
	bool solicited{false};
	bool fence{false};
	bool inline_data{false}; /**< slices name this process' memory, whatever their key */
};

/** Memory of the peer. */
struct Remote {
	std::uint64_t address;
	std::uint32_t stag;
};

/**
 * Two queues of work, connected to a peer by connect() or accept(). Requests may be posted at
 * any time: before it is connected they wait, after that they are flushed. Posting throws
 * std::system_error ENOMEM when the queue is full; a place in it is free when a request is done,
 * before its completion is polled. Slices are read before it returns.
 */
class QueuePair {
public:
	QueuePair(const ProtectionDomain &pd, const CompletionQueue &send,
		  const CompletionQueue &receive, QueuePairOptions options = {});

	void send(std::uint64_t id, Slices slices, SendOptions options = {}) const;
	/** @param immediate in the host's byte order */
	void send_immediate(std::uint64_t id, Slices slices, std::uint32_t immediate,
			    SendOptions options = {}) const;
	void send_invalidate(std::uint64_t id, Slices slices, std::uint32_t stag,
			     SendOptions options = {}) const;
	void write(std::uint64_t id, Slices slices, Remote to, SendOptions options = {}) const;
	/** Takes a receive of the peer, whose completion has the immediate data. */
	void write_immediate(std::uint64_t id, Slices slices, Remote to, std::uint32_t immediate,
			     SendOptions options = {}) const;
	void read(std::uint64_t id, Slices slices, Remote from, SendOptions options = {}) const;
	/** What was there goes to the slice of 8 octets. */
	void fetch_add(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t add,
		       SendOptions options = {}) const;
	void compare_swap(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t compare,
			  std::uint64_t swap, SendOptions options = {}) const;
	/** @param stag of a window of type 2, or of a region without windows */
	void invalidate(std::uint64_t id, std::uint32_t stag, SendOptions options = {}) const;
	/**
	 * Binds a window to a part of a region; its STag is then @p window.stag(), for the peer
	 * when the bind has completed, which needs a connection. One of type 2 must not be bound
	 * already; one of type 1 is, in place of what it was bound to. The peer addresses its first
	 * octet as the region's, by @p part.address, or by 0 if @p access has zero_based.
	 * @throws std::system_error EINVAL: they are not of this queue pair's context; or as the
	 *         other requests
	 */
	void bind(std::uint64_t id, const MemoryWindow &window, const MemoryRegion &region,
		  const Slice &part, std::uint32_t access, SendOptions options = {}) const;
	/** Requests in the ABI's own form, several at once; how many were posted comes back. */
	[[nodiscard]] std::size_t post_send(std::span<const krdma_wr> requests,
					    std::error_code &error) const noexcept;

	void receive(std::uint64_t id, Slices slices) const;
	[[nodiscard]] std::size_t post_receive(std::span<const krdma_wr> requests,
					       std::error_code &error) const noexcept;

	[[nodiscard]] std::uint32_t number() const noexcept;
	[[nodiscard]] std::uint32_t handle() const noexcept;
	/** What was granted: as much as was wished, or more. */
	[[nodiscard]] const QueuePairOptions &granted() const noexcept;
	/** State, limits, connection and its traffic. */
	[[nodiscard]] krdma_qp_attr query() const;
	/**
	 * To reset (as new, for another connection), init (of a new one), sqd, error, or rts,
	 * which is resume().
	 * @throws std::system_error EINVAL: another state, or not from the present one.
	 */
	void change_state(QueueState state) const;
	/**
	 * Has a connected queue pair rest: requests that were begun are finished, the others and
	 * new ones wait, receiving goes on, until resume(). With @p event KRDMA_ASYNC_SQ_DRAINED
	 * tells when what was begun is finished; query().draining does, too.
	 * @throws std::system_error EINVAL: it is not connected; EOPNOTSUPP or EINVAL: the RNIC
	 *         cannot.
	 */
	void drain(bool event = true) const;
	void resume() const;
	/** Remote rights: access::remote_*. A new queue pair has them all. */
	void change_access(std::uint32_t access) const;
	/** Ends the connection; at once, or when what was posted has left. */
	void disconnect(bool abrupt = false) const;
	/** Asynchronous events of the queue pair. */
	[[nodiscard]] const EventSource &events() const noexcept;

	[[nodiscard]] const std::shared_ptr<detail::QpState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::QpState> state_;
};

} /* namespace krdma */

#endif /* KRDMA_VERBS_HPP */
