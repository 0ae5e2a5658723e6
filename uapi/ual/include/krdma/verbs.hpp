/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The verbs: objects of an RNIC and work requests.
 *
 * A copy of an object is a handle of the same object. The object ends with its last handle.
 * Each object keeps the objects that it was made from, so objects may be destroyed in any
 * order. Numbers of the verbs (access, states, opcodes, statuses) are those of
 * <krdma/krdma-abi.h>, with the names below.
 */
#ifndef KRDMA_VERBS_HPP
#define KRDMA_VERBS_HPP

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <arpa/inet.h>

#include <krdma/error.hpp>
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

/** The operation that completed. */
enum class Opcode : std::uint32_t {
	send = KRDMA_WC_SEND, /**< also with immediate data or invalidation */
	write = KRDMA_WC_RDMA_WRITE,
	read = KRDMA_WC_RDMA_READ,
	compare_swap = KRDMA_WC_COMP_SWAP,
	fetch_add = KRDMA_WC_FETCH_ADD,
	bind = KRDMA_WC_BIND_MW,
	invalidate = KRDMA_WC_LOCAL_INV,
	receive = KRDMA_WC_RECV,
	receive_write_immediate = KRDMA_WC_RECV_RDMA_WITH_IMM, /**< consumed by an RDMA Write */
};

/** The status of a completion. A newer provider may use other numbers. */
enum class Status : std::uint32_t {
	success = KRDMA_STATUS_SUCCESS,
	local_length_error = KRDMA_STATUS_LOC_LEN_ERR, /**< a receive was too short */
	local_operation_error = KRDMA_STATUS_LOC_QP_OP_ERR,
	local_protection_error = KRDMA_STATUS_LOC_PROT_ERR, /**< this side's memory */
	flushed = KRDMA_STATUS_WR_FLUSH_ERR,                /**< the connection had ended before */
	bind_error = KRDMA_STATUS_MW_BIND_ERR,              /**< Bind or Local Invalidate */
	bad_response = KRDMA_STATUS_BAD_RESP_ERR,
	local_access_error = KRDMA_STATUS_LOC_ACCESS_ERR,
	remote_invalid_request = KRDMA_STATUS_REM_INV_REQ_ERR, /**< the peer refused it */
	remote_access_error = KRDMA_STATUS_REM_ACCESS_ERR,     /**< the peer's memory */
	remote_operation_error = KRDMA_STATUS_REM_OP_ERR,
	retries_exceeded = KRDMA_STATUS_RETRY_EXC_ERR,
	receiver_not_ready = KRDMA_STATUS_RNR_RETRY_EXC_ERR,
	remote_abort = KRDMA_STATUS_REM_ABORT_ERR,
	fatal_error = KRDMA_STATUS_FATAL_ERR,
	response_timeout = KRDMA_STATUS_RESP_TIMEOUT_ERR,
	general_error = KRDMA_STATUS_GENERAL_ERR,
};

/** State of a queue pair, for query() and change_state(). */
enum class QueueState : std::uint32_t {
	reset = KRDMA_QP_STATE_RESET, /**< for change_state() only: the state is init then */
	init = KRDMA_QP_STATE_INIT,   /**< new or reset, not connected yet */
	rts = KRDMA_QP_STATE_RTS,     /**< connected; change_state(): only after drain() */
	sqd = KRDMA_QP_STATE_SQD,     /**< posted requests leave, then error; or drain() */
	error = KRDMA_QP_STATE_ERR,   /**< the connection has ended */
};

/** How a context works. */
struct ContextOptions {
	bool slow{false}; /**< every call is a system call, even with a user library */
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

	/** Is the data path in the provider's user library? */
	[[nodiscard]] bool fast() const noexcept;
	/** The reason if not, as text; empty if fast. */
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

/** A protection domain: separates memory and queues of users. */
class ProtectionDomain {
public:
	explicit ProtectionDomain(const Context &context);
	/** The id that "rdma resource show pd" prints. */
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

/** A completion, with the layout of struct krdma_wc. */
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
	/** The status; raw().status is the number. */
	[[nodiscard]] Status status() const noexcept
	{
		return Status{raw_.status};
	}
	/** The status as text: "success", "flushed" ... */
	[[nodiscard]] std::string_view status_text() const noexcept;
	/** The operation, only if ok(); raw().opcode is the number. */
	[[nodiscard]] Opcode opcode() const noexcept
	{
		return Opcode{raw_.opcode};
	}
	/** Is it the completion of a receive? Only if ok(). */
	[[nodiscard]] bool received() const noexcept
	{
		return (raw_.opcode & KRDMA_WC_RECV) != 0;
	}
	/**
	 * The RNIC's own code of a failure; 0: none. The software RNIC gives the Terminate that
	 * ended the connection (krdma-abi.md), which says what was refused.
	 */
	[[nodiscard]] std::uint32_t vendor_error() const noexcept
	{
		return raw_.vendor_err;
	}
	/** vendor_error() in words if it is the code of a Terminate, see terminate_text(). */
	[[nodiscard]] std::string vendor_text() const
	{
		return terminate_text(raw_.vendor_err);
	}
	/** Bytes received or read. */
	[[nodiscard]] std::uint32_t length() const noexcept
	{
		return raw_.byte_len;
	}
	[[nodiscard]] std::uint32_t queue_pair() const noexcept
	{
		return raw_.qp;
	}
	/** Immediate data in the host's byte order; nothing if there is none. */
	[[nodiscard]] std::optional<std::uint32_t> immediate() const noexcept
	{
		return raw_.flags & KRDMA_WC_WITH_IMM ? std::optional{ntohl(raw_.imm)}
						      : std::nullopt;
	}
	/** The STag that the peer invalidated; nothing if it invalidated none. */
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
	bool times{false};              /**< keep the time of each; EOPNOTSUPP in a slow context */
};

/**
 * The time at which a completion was added: by the RNIC's clock with Attributes::raw.clock_khz,
 * and by CLOCK_REALTIME in nanoseconds (0: not known). The software RNIC's clock is
 * CLOCK_MONOTONIC.
 */
using CompletionTime = krdma_wc_time;

/** A completion queue. */
class CompletionQueue {
public:
	explicit CompletionQueue(const Context &context, CompletionQueueOptions options = {});

	/** Takes completions. Returns the filled part of @p to. No system call if fast. */
	std::span<Completion> poll(std::span<Completion> to) const;
	/**
	 * The same with the times of the completions; the smaller of both spans limits the number.
	 * @throws std::system_error EINVAL: the queue was created without times.
	 */
	std::span<Completion> poll(std::span<Completion> to, std::span<CompletionTime> times) const;
	/**
	 * Requests one event for the next completion. True: a completion may be there already, so
	 * poll before waiting.
	 */
	bool arm(bool solicited_only = false) const;
	/**
	 * Takes the next completion: polls, arms, waits. Nothing: time-out.
	 * @throws std::system_error EIO: the queue has failed (see events()) and is empty;
	 *         ENODEV: the RNIC is gone.
	 */
	[[nodiscard]] std::optional<Completion>
	wait(std::chrono::milliseconds timeout = forever) const;

	/**
	 * Sets a callback that gets all completions, those that are there already first. The
	 * library arms the queue and takes them, some at a time, until it is empty. The callback
	 * runs as those of events() do (EventSource::on_event()), and takes their place. It should
	 * return soon: dispatch() serves other objects only when the queue is empty.
	 * @param failed called once when the queue has failed and all were taken (EIO). The end of
	 *        the RNIC is the context's event; if it comes while completions are taken, this is
	 *        called, too (ENODEV). Empty: nothing is called.
	 * An empty @p taken removes both.
	 */
	void on_completion(std::function<void(std::span<const Completion>)> taken,
			   std::function<void(int)> failed = {}) const;

	[[nodiscard]] std::uint32_t depth() const noexcept;
	/** Resizes the queue, even while it is in use. */
	void resize(std::uint32_t depth) const;
	/** Event after @p count completions or @p period_us after the first; 0 and 0: at each. */
	void moderate(std::uint16_t count, std::uint16_t period_us) const;
	/** Events KRDMA_EVENT_COMPLETION after arm(), and KRDMA_EVENT_ASYNC. */
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

/** A piece of registered memory, for work requests. */
struct Slice {
	std::uint64_t address;
	std::uint32_t length;
	std::uint32_t key;
};

static_assert(sizeof(Slice) == sizeof(krdma_sge));

/** The slices of a request: one slice, {several, slices}, any sequence of them, or {}: none. */
class Slices {
public:
	constexpr Slices() noexcept = default;
	constexpr Slices(const Slice &slice) noexcept : slices_{&slice, 1}
	{}
	/* the slices outlive the call that they are made for */
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

/** Memory of the peer: what MemoryRegion::remote() gives there. */
struct Remote {
	/** Bytes of the packed form. */
	static constexpr std::size_t packed_size = 12;

	std::uint64_t address;
	std::uint32_t stag;

	/** For a message to the peer, in network byte order. */
	[[nodiscard]] std::array<std::byte, packed_size> pack() const noexcept;
	[[nodiscard]] static Remote unpack(std::span<const std::byte, packed_size> from) noexcept;
	/** The memory from this byte on. */
	[[nodiscard]] constexpr Remote operator+(std::uint64_t offset) const noexcept
	{
		return {address + offset, stag};
	}
};

/** A memory region: memory that an RNIC may use. */
class MemoryRegion {
public:
	/**
	 * Registers memory that is only read, by sends and Writes of this side and, with
	 * access::remote_read, by the peer. Rights to write are EINVAL.
	 */
	[[nodiscard]] static MemoryRegion read_only(const ProtectionDomain &pd,
						    std::span<const std::byte> memory,
						    std::uint32_t access = 0);
	/**
	 * Registers memory of this process, which must stay in place while the region lives.
	 * Tagged offsets are its addresses, or begin at 0 with access::zero_based.
	 */
	MemoryRegion(const ProtectionDomain &pd, std::span<std::byte> memory, std::uint32_t access);
	/** The same, but tagged offsets begin at @p iova (at 0 with access::zero_based). */
	MemoryRegion(const ProtectionDomain &pd, std::span<std::byte> memory, std::uint64_t iova,
		     std::uint32_t access);
	/**
	 * Registers a part of a dma-buf. The region keeps the dma-buf; the descriptor may be
	 * closed. Tagged offsets begin at @p iova (at 0 with access::zero_based).
	 */
	MemoryRegion(const ProtectionDomain &pd, int dmabuf, std::uint64_t offset,
		     std::uint64_t length, std::uint64_t iova, std::uint32_t access);

	/** The STag, for local use and for the peer. change_...() may change it. */
	[[nodiscard]] std::uint32_t stag() const noexcept;
	[[nodiscard]] std::uint64_t address() const noexcept;
	[[nodiscard]] std::uint64_t length() const noexcept;
	/** A slice of all of the region, or of a part. @throws std::out_of_range */
	[[nodiscard]] Slice slice() const;
	[[nodiscard]] Slice slice(std::uint64_t offset, std::uint32_t length) const;

	/** What the peer needs to access the region, from that byte on. @throws std::out_of_range
	 */
	[[nodiscard]] Remote remote(std::uint64_t offset = 0) const;

	/** Changes the rights of the region; its tagged offsets stay. */
	void change_access(std::uint32_t access) const;
	/** Changes the memory of the region. */
	void change_memory(std::span<std::byte> memory) const;
	/** The same, but tagged offsets begin at @p iova. */
	void change_memory(std::span<std::byte> memory, std::uint64_t iova) const;
	/** Moves the region to another domain of its context. */
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
 * A memory window: names, for the peer, a part of a region to which a work request binds it.
 *
 * The window keeps the region of the last bind that was posted. The region of the bind before lives
 * on in the kernel, even if its handles have ended, until the new bind is done. If the new bind
 * fails, it lives until the window ends.
 */
class MemoryWindow {
public:
	/** @param type 1 or 2 */
	explicit MemoryWindow(const ProtectionDomain &pd, std::uint32_t type = 2);

	[[nodiscard]] std::uint32_t stag() const noexcept;
	/** The STag that the next bind gives it: the same with the next key. */
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
	std::uint32_t limit{0}; /**< event when fewer receives are left; 0: none */
};

/** A shared receive queue: receives for several queue pairs. */
class SharedReceiveQueue {
public:
	explicit SharedReceiveQueue(const ProtectionDomain &pd, ReceiveQueueOptions options = {});

	void post(std::uint64_t id, Slices slices) const;
	/** Posts requests in the form of the ABI, like QueuePair::post_receive(). */
	[[nodiscard]] std::size_t post(std::span<const krdma_wr> requests,
				       std::error_code &error) const noexcept;
	void resize(std::uint32_t max_wr) const;
	/** Arms the limit for one event; it then disarms itself. */
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
	bool signal_all{false};                      /**< every send request is signaled */
	const SharedReceiveQueue *receives{nullptr}; /**< the queue pair keeps it */
};

/** Options of any send request. */
struct SendOptions {
	bool signaled{true};
	bool solicited{false};
	bool fence{false};
	bool inline_data{false}; /**< slices name memory of this process, whatever their key */
};

/**
 * A queue pair, connected to a peer by connect() or accept().
 *
 * Requests may be posted at any time. Before the queue pair is connected they wait; after the end
 * of the connection they are flushed. Posting throws std::system_error ENOMEM when the queue is
 * full. A place becomes free when a request is done, before its completion is polled. Slices are
 * read before the call returns.
 */
class QueuePair {
public:
	QueuePair(const ProtectionDomain &pd, const CompletionQueue &send,
		  const CompletionQueue &receive, QueuePairOptions options = {});

	void send(std::uint64_t id, Slices slices, SendOptions options = {}) const;
	/**
	 * Sends, or writes, memory that need not be registered, with inline data: it may be used
	 * again when the call returns. At most granted().max_inline bytes, else EINVAL.
	 */
	void send_inline(std::uint64_t id, std::span<const std::byte> data,
			 SendOptions options = {}) const;
	void write_inline(std::uint64_t id, std::span<const std::byte> data, Remote to,
			  SendOptions options = {}) const;
	/** @param immediate in the host's byte order */
	void send_immediate(std::uint64_t id, Slices slices, std::uint32_t immediate,
			    SendOptions options = {}) const;
	void send_invalidate(std::uint64_t id, Slices slices, std::uint32_t stag,
			     SendOptions options = {}) const;
	void write(std::uint64_t id, Slices slices, Remote to, SendOptions options = {}) const;
	/** Consumes a receive of the peer, with the immediate data in its completion. */
	void write_immediate(std::uint64_t id, Slices slices, Remote to, std::uint32_t immediate,
			     SendOptions options = {}) const;
	void read(std::uint64_t id, Slices slices, Remote from, SendOptions options = {}) const;
	/** The previous value is stored in the slice, which has 8 bytes. */
	void fetch_add(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t add,
		       SendOptions options = {}) const;
	void compare_swap(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t compare,
			  std::uint64_t swap, SendOptions options = {}) const;
	/** @param stag of a type 2 window, or of a region without bound windows */
	void invalidate(std::uint64_t id, std::uint32_t stag, SendOptions options = {}) const;
	/**
	 * Binds a window to a part of a region. @p window.stag() then returns its STag, which the
	 * peer may use when the bind has completed. A bind completes only on a connected queue
	 * pair. A type 2 window must not be bound already. A type 1 window may be, and the new
	 * bind replaces the old one. The peer addresses the first byte by @p part.address, or by
	 * 0 if @p access has zero_based.
	 * @throws std::system_error EINVAL: an object is not of this queue pair's context; others
	 *         like any request
	 */
	void bind(std::uint64_t id, const MemoryWindow &window, const MemoryRegion &region,
		  const Slice &part, std::uint32_t access, SendOptions options = {}) const;
	/** Posts several requests in the form of the ABI. Returns the number posted. */
	[[nodiscard]] std::size_t post_send(std::span<const krdma_wr> requests,
					    std::error_code &error) const noexcept;

	void receive(std::uint64_t id, Slices slices) const;
	[[nodiscard]] std::size_t post_receive(std::span<const krdma_wr> requests,
					       std::error_code &error) const noexcept;

	[[nodiscard]] std::uint32_t number() const noexcept;
	[[nodiscard]] std::uint32_t handle() const noexcept;
	/** The granted options: at least those asked for. */
	[[nodiscard]] const QueuePairOptions &granted() const noexcept;
	/** Queries state, limits, the connection and its traffic. */
	[[nodiscard]] krdma_qp_attr query() const;
	/**
	 * Changes the state to reset (like new, for another connection), init (of a new queue
	 * pair), sqd, error, or rts, which is resume().
	 * @throws std::system_error EINVAL: another state, or not allowed in the present one;
	 *         EOPNOTSUPP: the RNIC cannot use a queue pair again.
	 */
	void change_state(QueueState state) const;
	/**
	 * Makes a connected queue pair rest until resume(). Requests that have begun are finished,
	 * other and new ones wait, receiving continues. With @p event, KRDMA_ASYNC_SQ_DRAINED says
	 * that the begun requests are finished. query().draining says so, too.
	 * @throws std::system_error EINVAL: not connected; EOPNOTSUPP or EINVAL: the RNIC cannot.
	 */
	void drain(bool event = true) const;
	void resume() const;
	/** Sets the remote rights, access::remote_*. A new queue pair has all of them. */
	void change_access(std::uint32_t access) const;
	/** Ends the connection: at once if @p abrupt, else when all posted requests have left. */
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
