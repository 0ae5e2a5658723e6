/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The objects behind <krdma/ual.h>. Each C object holds the C++ object and its events. Every
 * function of the C interface runs in guarded(), which lets no exception out.
 */
#ifndef KRDMA_C_API_HPP
#define KRDMA_C_API_HPP

#include <array>
#include <atomic>

#include <krdma/krdma.hpp>
#include <krdma/ual.h>

#include "state.hpp"

/** struct ual_source - the events of an object; its destructor removes the callback */
struct ual_source {
	explicit ual_source(krdma::EventSource from) noexcept : source{std::move(from)}
	{}
	ual_source(const ual_source &) = delete;
	ual_source &operator=(const ual_source &) = delete;
	~ual_source()
	{
		if (called)
			source.on_event({});
	}

	krdma::EventSource source;
	std::atomic<bool> called{};
};

namespace krdma::capi {

/** A C object without events. */
template <typename T> struct Plain {
	template <typename... From>
	explicit Plain(From &&...from) : object(std::forward<From>(from)...)
	{}

	T object;
};

/** A C object with events. The events end before the object. */
template <typename T> struct Heard {
	template <typename... From>
	explicit Heard(From &&...from)
		: object(std::forward<From>(from)...), events{object.events()}
	{}

	T object;
	ual_source events;
};

/* the last error of a thread, for ual_last_error() */
struct LastError {
	krdma_error detail;
	std::array<char, 256> text;
};

LastError &last_error() noexcept;
void remember(int err, const krdma_error &detail, const char *text) noexcept;

/* Remember an error and return it as a negative errno. */
inline int failure(int err, const char *text, const krdma_error &detail = {}) noexcept
{
	remember(err, detail, text);
	return -err;
}

/* Return: the result of @action or 0; if @action throws, a negative errno. */
template <typename Action> int guarded(Action action) noexcept
{
	try {
		if constexpr (std::is_void_v<decltype(action())>) {
			action();
			return 0;
		} else {
			return static_cast<int>(action());
		}
	} catch (const Error &error) {
		return failure(error.code().value(), error.what(), error.raw());
	} catch (const std::system_error &error) {
		return failure(error.code() ? error.code().value() : EIO, error.what());
	} catch (const std::bad_alloc &) {
		return failure(ENOMEM, "no memory");
	} catch (const std::out_of_range &error) {
		return failure(ERANGE, error.what());
	} catch (...) {
		return failure(EIO, "unknown error");
	}
}

/* Create a C object from the other arguments. */
template <typename T, typename... From> int make(T **result, From &&...from) noexcept
{
	return guarded(
		[&] { *result = std::make_unique<T>(std::forward<From>(from)...).release(); });
}

template <typename T> void destroy(T *object) noexcept
{
	const std::unique_ptr<T> last{object};
}

/*
 * Options whose structure may be longer than this library knows, with zeros in the unknown
 * part, or shorter. The first version of the structure had @least bytes.
 */
template <typename T> T options(const T *given, const T &defaults, std::size_t least = sizeof(T))
{
	T all = defaults;

	if (!given)
		return all;
	if (given->size < least)
		detail::throw_errno(EINVAL, "size of options");
	std::memcpy(&all, given, std::min(given->size, sizeof(T)));
	if (given->size <= sizeof(T))
		return all;
	const auto *bytes = reinterpret_cast<const std::byte *>(given);
	if (std::any_of(bytes + sizeof(T), bytes + given->size,
			[](std::byte byte) { return byte != std::byte{0}; }))
		detail::throw_errno(E2BIG, "options");
	return all;
}

/* Copy a text and return its length, as snprintf() does. */
inline std::size_t put_text(std::string_view from, char *to, std::size_t room) noexcept
{
	if (room) {
		const std::size_t fits = std::min(from.size(), room - 1);

		std::memcpy(to, from.data(), fits);
		to[fits] = '\0';
	}
	return from.size();
}

inline void put_name(std::string_view from, char (&to)[KRDMA_NAME_LEN]) noexcept
{
	(void)put_text(from, to, sizeof(to));
}

/* Copy as many entries as there is room for. Return: the number of all entries. */
template <typename Entry, typename From, typename Put>
std::uint32_t put_list(const std::vector<From> &from, Entry *to, std::uint32_t room, Put put)
{
	for (std::size_t i = 0; i < from.size() && i < room; i++)
		to[i] = put(from[i]);
	return static_cast<std::uint32_t>(from.size());
}

ual_conn_info conn_info(const ConnectionInfo &from) noexcept;

inline std::chrono::milliseconds milliseconds(int timeout) noexcept
{
	return timeout < 0 ? forever : std::chrono::milliseconds{timeout};
}

} /* namespace krdma::capi */

struct ual_session : krdma::capi::Heard<krdma::Session> {
	using Heard::Heard;
};
struct ual_context : krdma::capi::Heard<krdma::Context> {
	using Heard::Heard;
};
struct ual_pd : krdma::capi::Plain<krdma::ProtectionDomain> {
	using Plain::Plain;
};
struct ual_mr : krdma::capi::Plain<krdma::MemoryRegion> {
	using Plain::Plain;
};
struct ual_mw : krdma::capi::Plain<krdma::MemoryWindow> {
	using Plain::Plain;
};
struct ual_cq : krdma::capi::Heard<krdma::CompletionQueue> {
	using Heard::Heard;
};
struct ual_srq : krdma::capi::Heard<krdma::SharedReceiveQueue> {
	using Heard::Heard;
};
struct ual_qp : krdma::capi::Heard<krdma::QueuePair> {
	using Heard::Heard;
};
struct ual_connection : krdma::capi::Heard<krdma::Connection> {
	using Heard::Heard;
};
struct ual_neighbour : krdma::capi::Heard<krdma::Neighbour> {
	using Heard::Heard;
};
struct ual_request : krdma::capi::Plain<krdma::ConnectionRequest> {
	using Plain::Plain;
};
struct ual_port : krdma::capi::Plain<krdma::PortReservation> {
	using Plain::Plain;
};
struct ual_dispatcher : krdma::capi::Plain<krdma::Dispatcher> {
	using Plain::Plain;
};

/** struct ual_listener - a listener; it removes its callback itself, like ual_source */
struct ual_listener : krdma::capi::Plain<krdma::Listener> {
	using Plain::Plain;
	ual_listener(const ual_listener &) = delete;
	ual_listener &operator=(const ual_listener &) = delete;
	~ual_listener()
	{
		if (called)
			object.on_request({});
	}

	std::atomic<bool> called{};
};

#endif /* KRDMA_C_API_HPP */
