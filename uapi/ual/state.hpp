/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The objects behind the verbs' handles. Each object keeps the objects that it needs alive.
 * Its destructor ends it: through the user library if the library created it, else by its
 * handle.
 */
#ifndef KRDMA_STATE_HPP
#define KRDMA_STATE_HPP

#include <krdma/connection.hpp>
#include <krdma/verbs.hpp>

#include "core.hpp"
#include "uvp.hpp"

namespace krdma::detail {

/* an object of another context, which the user library would not notice */
[[noreturn]] inline void throw_other_context(const char *what)
{
	throw Error{EINVAL, what, refusal(EINVAL, KRDMA_CAUSE_OTHER_CONTEXT)};
}

class ContextState {
public:
	ContextState(const Device &device, ContextOptions options);
	ContextState(const ContextState &) = delete;
	ContextState &operator=(const ContextState &) = delete;
	~ContextState();

	/* Does the data path use the user library? */
	[[nodiscard]] bool fast() const noexcept
	{
		return user;
	}

	/*
	 * The cause of an errno of the user library. EIO may mean that the RNIC is gone: then
	 * ENODEV.
	 */
	[[nodiscard]] int cause(int err) noexcept;

	Device device;
	std::shared_ptr<Core> core;
	std::shared_ptr<Scope> scope;
	Inbox mailbox;
	EventSource events;
	Handle handle;
	std::string why_slow;

	krdma_uvp_host host{};
	krdma_uvp_ops uvp{};
	void *user{}; /* the library's context; nullptr: no library */

private:
	void open_fast(krdma_context &cmd);
};

/* an object of a context */
class Member {
public:
	explicit Member(std::shared_ptr<ContextState> owner)
		: context{std::move(owner)}, core{*context->core}
	{}
	Member(const Member &) = delete;
	Member &operator=(const Member &) = delete;
	~Member() = default;

	std::shared_ptr<ContextState> context;
	Core &core;
	/*
	 * For objects that the library does not destroy itself. It ends before the objects that
	 * this one was made from.
	 */
	Handle handle;
};

/* an object of a context that has events */
class Source : public Member {
public:
	explicit Source(std::shared_ptr<ContextState> owner)
		: Member{std::move(owner)}, mailbox{core.make_mailbox(context->scope)},
		  events{mailbox.get()}
	{}

	Inbox mailbox;
	EventSource events;
};

/* an object that the user library makes if it can, else the kernel */
class Optional : public Member {
public:
	using Member::Member;

	std::uint32_t number{}; /* the kernel's handle, in both cases */
	void *user{};           /* the library's object, if the library made it */

protected:
	template <typename Command>
	void make(int (*create)(void *, Command *, void **), unsigned long command, Command &cmd,
		  const char *what)
	{
		if (context->fast() && create) {
			through_library([&] { return create(context->user, &cmd, &user); }, what);
		} else {
			core.command(command, cmd, what);
			handle = Handle{context->core, cmd.handle};
		}
		number = cmd.handle;
	}

	void end(int (*destroy)(void *)) noexcept
	{
		if (user && !core.forked() && destroy(user) == EBUSY)
			(void)core.destroy_later(number);
		handle.reset();
	}
};

class PdState : public Optional {
public:
	explicit PdState(const Context &context);
	~PdState();

	std::uint32_t id{};
};

class CqState : public Source {
public:
	CqState(const Context &context, const CompletionQueueOptions &options);
	~CqState();

	/* Take completions. Return: their number, or a negative errno. */
	[[nodiscard]] std::int64_t poll(std::span<krdma_wc> to);
	/* Return: 0 or an errno. @missed: a completion may be there already */
	[[nodiscard]] int arm(bool solicited_only, bool &missed);
	/*
	 * Arm the queue and hand over completions until it is empty. Return: 0; or an errno, and
	 * no more completions can come.
	 */
	[[nodiscard]] int drain(const std::function<void(std::span<const Completion>)> &taken);

	/* Put an event of a completion into the mailbox. */
	void pretend_event();
	[[nodiscard]] Past past();
	/* Wait for an event after @seen: a completion or a failure. */
	[[nodiscard]] Past next(std::chrono::milliseconds timeout, const Past &seen);

	std::uint32_t number{}; /* handle */
	std::mutex resizing;
	std::atomic<std::uint32_t> depth{};
	bool times{};
	void *user{};
};

class SrqState : public Source {
public:
	SrqState(const ProtectionDomain &pd, const ReceiveQueueOptions &options);
	~SrqState();

	std::shared_ptr<PdState> pd;
	std::uint32_t number{};
	void *user{};
};

class QpState : public Source {
public:
	QpState(const ProtectionDomain &pd, const CompletionQueue &send,
		const CompletionQueue &receive, const QueuePairOptions &options);
	~QpState();

	std::shared_ptr<PdState> pd;
	std::shared_ptr<CqState> send_cq;
	std::shared_ptr<CqState> recv_cq;
	std::shared_ptr<SrqState> srq;
	QueuePairOptions granted;
	std::uint32_t number{}; /* QP number */
	std::uint32_t id{};     /* handle */
	void *user{};
};

class MrState : public Optional {
public:
	MrState(const ProtectionDomain &pd, krdma_mr &cmd);
	~MrState();

	/* the STag, address and length of the region at one time */
	struct Name {
		std::uint32_t stag;
		std::uint64_t address;
		std::uint64_t length;
	};

	[[nodiscard]] Name name() const
	{
		const std::lock_guard guard{lock_};

		return name_;
	}
	void change_access(std::uint32_t access);
	void change_memory(std::span<std::byte> memory, std::uint64_t iova);
	void change_domain(const ProtectionDomain &domain);

	std::shared_ptr<PdState> pd;

private:
	void reregister(krdma_mr_reregister &cmd);

	/* Also held while the kernel changes the region, because no name is valid then. */
	mutable std::mutex lock_;
	Name name_{};
	bool zero_based_{}; /* the address is always 0 */
};

class MwState : public Optional {
public:
	MwState(const ProtectionDomain &pd, std::uint32_t type);
	~MwState();

	std::shared_ptr<PdState> pd;
	mutable std::mutex lock;         /* for the members below; one bind at a time */
	std::shared_ptr<MrState> region; /* region of the last posted bind, see QueuePair::bind() */
	std::uint32_t stag{};

	/* The index stays. The key, the low 8 bits, is increased. */
	[[nodiscard]] std::uint32_t next_stag() const noexcept
	{
		return (stag & ~0xffU) | ((stag + 1) & 0xffU);
	}
};

} /* namespace krdma::detail */

#endif /* KRDMA_STATE_HPP */
