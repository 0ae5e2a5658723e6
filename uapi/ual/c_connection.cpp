/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The C interface: connections and listeners. */
#include <algorithm>

#include "c_api.hpp"

using namespace krdma::capi;
using krdma::Address;

namespace {

std::span<const std::byte> bytes(const void *data, std::size_t length) noexcept
{
	return {static_cast<const std::byte *>(data), length};
}

/* -1: none */
std::optional<std::uint8_t> tos_of(int tos)
{
	if (tos < -1 || tos > UINT8_MAX)
		krdma::detail::throw_errno(EINVAL, "tos");
	return tos < 0 ? std::nullopt : std::optional{static_cast<std::uint8_t>(tos)};
}

krdma::ConnectionOptions connection_options(const ual_conn_options *given)
{
	const ual_conn_options wanted =
		options(given, UAL_CONN_OPTIONS, offsetof(ual_conn_options, timeout_ms));

	if (wanted.reserved)
		krdma::detail::throw_errno(EINVAL, "options of a connection");
	return {.private_data = bytes(wanted.private_data, wanted.private_data_len),
		.ird = wanted.ird,
		.ord = wanted.ord,
		.tos = tos_of(wanted.tos),
		.local = Address{wanted.local},
		.timeout = wanted.timeout_ms
				   ? std::optional{std::chrono::milliseconds{wanted.timeout_ms}}
				   : std::nullopt};
}

} /* namespace */

int ual_connect(ual_qp *qp, const krdma_addr *remote, const ual_conn_options *given,
		ual_connection **connection)
{
	return guarded([&] {
		*connection = std::make_unique<ual_connection>(
				      krdma::Connection::connect(qp->object, Address{*remote},
								 connection_options(given)))
				      .release();
	});
}

int ual_established(ual_connection *connection, int timeout_ms)
{
	return guarded([&] { connection->object.established(milliseconds(timeout_ms)); });
}

int ual_closed(ual_connection *connection, int timeout_ms)
{
	return guarded([&] { return connection->object.closed(milliseconds(timeout_ms)); });
}

int ual_close_status(const ual_connection *connection)
{
	return guarded([&] { return -connection->object.close_status(); });
}

void ual_connection_info(const ual_connection *connection, ual_conn_info *info)
{
	*info = {};
	(void)guarded([&] { *info = conn_info(connection->object.info()); });
}

uint32_t ual_connection_handle(const ual_connection *connection)
{
	return connection->object.handle();
}

void ual_connection_destroy(ual_connection *connection)
{
	destroy(connection);
}

int ual_listen(ual_context *context, const krdma_addr *local, const ual_listen_options *given,
	       ual_listener **listener)
{
	return guarded([&] {
		const ual_listen_options wanted = options(given, UAL_LISTEN_OPTIONS);

		if (wanted.flags & ~KRDMA_LISTEN_V6ONLY)
			krdma::detail::throw_errno(EINVAL, "flags");
		const krdma::ListenerOptions how{.backlog = wanted.backlog,
						 .v6only =
							 (wanted.flags & KRDMA_LISTEN_V6ONLY) != 0,
						 .tos = tos_of(wanted.tos)};
		*listener = std::make_unique<ual_listener>(context->object, Address{*local}, how)
				    .release();
	});
}

void ual_listener_address(const ual_listener *listener, krdma_addr *address)
{
	*address = listener->object.address().raw();
}

int ual_listener_wait(ual_listener *listener, ual_request **request, int timeout_ms)
{
	return guarded([&] {
		std::optional<krdma::ConnectionRequest> next =
			listener->object.wait(milliseconds(timeout_ms));

		if (next)
			*request = std::make_unique<ual_request>(std::move(*next)).release();
		return next.has_value();
	});
}

int ual_listener_callback(ual_listener *listener, ual_request_fn fn, void *arg)
{
	return guarded([&] {
		listener->called = fn != nullptr;
		if (!fn) {
			listener->object.on_request({});
			return;
		}
		listener->object.on_request([fn, arg](krdma::ConnectionRequest next) {
			fn(arg, std::make_unique<ual_request>(std::move(next)).release());
		});
	});
}

void ual_listener_destroy(ual_listener *listener)
{
	destroy(listener);
}

void ual_request_info(const ual_request *request, ual_conn_info *info)
{
	*info = conn_info(request->object.info());
}

int ual_accept(ual_request *request, ual_qp *qp, const ual_conn_options *given,
	       ual_connection **connection)
{
	return guarded([&] {
		*connection = std::make_unique<ual_connection>(
				      request->object.accept(qp->object, connection_options(given)))
				      .release();
	});
}

int ual_reject(ual_request *request, const void *private_data, uint32_t length)
{
	return guarded([&] { request->object.reject(bytes(private_data, length)); });
}

void ual_request_destroy(ual_request *request)
{
	destroy(request);
}
