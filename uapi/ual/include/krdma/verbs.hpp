/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The verbs: what a program makes on an RNIC and works with. Copies of an object are the
 * same object, which ends with the last one; each keeps what it was made from, so the order
 * of destruction is free. Numbers of the verbs (access, states, opcodes, statuses) are those
 * of <rdma/ib_user_ioctl_verbs.h>, with names below for the usual ones.
 */
#ifndef KRDMA_VERBS_HPP
#define KRDMA_VERBS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
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
inline constexpr std::uint32_t local_write = 1U << 0;
inline constexpr std::uint32_t remote_write = 1U << 1;
inline constexpr std::uint32_t remote_read = 1U << 2;
inline constexpr std::uint32_t remote_atomic = 1U << 3;
inline constexpr std::uint32_t window_bind = 1U << 4;
inline constexpr std::uint32_t zero_based = 1U << 5;
} /* namespace access */

enum class QueueState : std::uint32_t { reset, init, rtr, rts, sqd, sqe, error };

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
		return raw_.status == 0;
	}
	/** IBV_WC_* */
	[[nodiscard]] std::uint32_t status() const noexcept
	{
		return raw_.status;
	}
	/** "success", "flushed" ... */
	[[nodiscard]] std::string_view status_text() const noexcept;
	/** IB_UVERBS_WC_* */
	[[nodiscard]] std::uint32_t opcode() const noexcept
	{
		return raw_.opcode;
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
		return raw_.flags & with_immediate ? std::optional{ntohl(raw_.imm)} : std::nullopt;
	}
	/** STag that the peer invalidated, if it did. */
	[[nodiscard]] std::optional<std::uint32_t> invalidated() const noexcept
	{
		return raw_.flags & with_invalidate ? std::optional{raw_.imm} : std::nullopt;
	}
	[[nodiscard]] const krdma_wc &raw() const noexcept
	{
		return raw_;
	}

private:
	static constexpr std::uint32_t with_immediate = 1U << 1;
	static constexpr std::uint32_t with_invalidate = 1U << 3;
	krdma_wc raw_{};
};

static_assert(sizeof(Completion) == sizeof(krdma_wc));

struct CompletionQueueOptions {
	std::uint32_t depth{256};
	std::uint32_t event_handler{0}; /**< completion event handler (vector) */
};

/** Where work requests complete. */
class CompletionQueue {
public:
	explicit CompletionQueue(const Context &context, CompletionQueueOptions options = {});

	/** Takes what is there; the part of @p to that was filled. No system call when fast. */
	std::span<Completion> poll(std::span<Completion> to) const;
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

/** Memory that an RNIC may use. */
class MemoryRegion {
public:
	/**
	 * Memory of this process, which stays where it is while the region lives. Tagged offsets
	 * are its addresses, or begin at 0 with access::zero_based.
	 */
	MemoryRegion(const ProtectionDomain &pd, std::span<std::byte> memory, std::uint32_t access);
	/** Octets of a dma-buf; tagged offsets begin at @p iova. */
	MemoryRegion(const ProtectionDomain &pd, int dmabuf, std::uint64_t offset,
		     std::uint64_t length, std::uint64_t iova, std::uint32_t access);

	/** For local use and for the peer. Changes with reregister(). */
	[[nodiscard]] std::uint32_t stag() const noexcept;
	[[nodiscard]] std::uint64_t address() const noexcept;
	[[nodiscard]] std::uint64_t length() const noexcept;
	/** All of it, or a part. @throws std::out_of_range */
	[[nodiscard]] Slice slice() const;
	[[nodiscard]] Slice slice(std::uint64_t offset, std::uint32_t length) const;

	/** The same region with other rights. */
	void change_access(std::uint32_t access) const;
	/** The same region with other memory. */
	void change_memory(std::span<std::byte> memory) const;

	[[nodiscard]] const std::shared_ptr<detail::MrState> &state() const noexcept
	{
		return state_;
	}

private:
	std::shared_ptr<detail::MrState> state_;
};

/**
 * Names a part of a region that a work request binds it to, for the peer. It keeps the
 * region that it was bound to last.
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

	void post(std::uint64_t id, std::span<const Slice> slices) const;
	void post(std::uint64_t id, const Slice &slice) const
	{
		post(id, std::span{&slice, 1});
	}
	void resize(std::uint32_t max_wr) const;
	/** For one event; it disarms itself. */
	void set_limit(std::uint32_t limit) const;
	[[nodiscard]] krdma_srq_attr query() const;
	[[nodiscard]] const EventSource &events() const noexcept;

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
	const SharedReceiveQueue *receives{nullptr};
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
 * Two queues of work, connected to a peer by connect() or accept(). Posting throws
 * std::system_error ENOMEM when the queue is full.
 */
class QueuePair {
public:
	QueuePair(const ProtectionDomain &pd, const CompletionQueue &send,
		  const CompletionQueue &receive, QueuePairOptions options = {});

	void send(std::uint64_t id, std::span<const Slice> slices, SendOptions options = {}) const;
	void send(std::uint64_t id, const Slice &slice, SendOptions options = {}) const
	{
		send(id, std::span{&slice, 1}, options);
	}
	/** @param immediate in the host's byte order */
	void send_immediate(std::uint64_t id, std::span<const Slice> slices,
			    std::uint32_t immediate, SendOptions options = {}) const;
	void send_invalidate(std::uint64_t id, std::span<const Slice> slices, std::uint32_t stag,
			     SendOptions options = {}) const;
	void write(std::uint64_t id, std::span<const Slice> slices, Remote to,
		   SendOptions options = {}) const;
	void write(std::uint64_t id, const Slice &slice, Remote to, SendOptions options = {}) const
	{
		write(id, std::span{&slice, 1}, to, options);
	}
	/** Takes a receive of the peer, whose completion has the immediate data. */
	void write_immediate(std::uint64_t id, std::span<const Slice> slices, Remote to,
			     std::uint32_t immediate, SendOptions options = {}) const;
	void read(std::uint64_t id, std::span<const Slice> slices, Remote from,
		  SendOptions options = {}) const;
	void read(std::uint64_t id, const Slice &slice, Remote from, SendOptions options = {}) const
	{
		read(id, std::span{&slice, 1}, from, options);
	}
	/** What was there goes to the slice of 8 octets. */
	void fetch_add(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t add,
		       SendOptions options = {}) const;
	void compare_swap(std::uint64_t id, const Slice &slice, Remote at, std::uint64_t compare,
			  std::uint64_t swap, SendOptions options = {}) const;
	/** @param stag of a window of type 2, or of a region without windows */
	void invalidate(std::uint64_t id, std::uint32_t stag, SendOptions options = {}) const;
	/**
	 * Binds a window to a part of a region; its STag is then @p window.stag(). One of type 2
	 * must not be bound already; one of type 1 is, in place of what it was bound to.
	 */
	void bind(std::uint64_t id, const MemoryWindow &window, const MemoryRegion &region,
		  const Slice &part, std::uint32_t access, SendOptions options = {}) const;
	/** Requests in the ABI's own form, several at once; how many were posted comes back. */
	[[nodiscard]] std::size_t post_send(std::span<const krdma_wr> requests,
					    std::error_code &error) const noexcept;

	void receive(std::uint64_t id, std::span<const Slice> slices) const;
	void receive(std::uint64_t id, const Slice &slice) const
	{
		receive(id, std::span{&slice, 1});
	}
	[[nodiscard]] std::size_t post_receive(std::span<const krdma_wr> requests,
					       std::error_code &error) const noexcept;

	[[nodiscard]] std::uint32_t number() const noexcept;
	[[nodiscard]] std::uint32_t handle() const noexcept;
	/** What was granted. */
	[[nodiscard]] const QueuePairOptions &granted() const noexcept;
	/** State, limits, connection and its traffic. */
	[[nodiscard]] krdma_qp_attr query() const;
	/** To init, sqd or error. */
	void change_state(QueueState state) const;
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
