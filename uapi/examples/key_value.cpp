/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * key_value -l ADDRESS:PORT				server
 * key_value HOST:PORT put KEY VALUE | get KEY | delete KEY	client
 *
 * A store of keys and values. Requests and replies are short messages; values go by RDMA:
 *
 * - put: the client lends its value, and the server reads it (RDMA Read).
 * - get: the client lends a buffer, and the server writes the value there (RDMA Write). The reply
 *   follows on the same connection, so it arrives after the value.
 *
 * The server has one thread, one completion queue and one shared receive queue for all clients.
 * It does not trust them: lengths are checked, and whoever breaks a rule loses the connection. Nor
 * does the client trust any host but the server: it lends memory only while a request lasts.
 *
 * g++ -std=c++20 key_value.cpp $(pkg-config --cflags --libs krdma)
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <arpa/inet.h>

#include <krdma/krdma.hpp>

namespace {

using namespace std::chrono_literals;
namespace access = krdma::access;
using Bytes = std::vector<std::byte>;

/* Messages; numbers in network byte order ********************************** */

constexpr std::uint32_t max_value = 64 * 1024;
constexpr std::size_t max_key = 63;

enum class Operation : std::uint8_t { get, put, remove };

struct Request {
	Operation operation;
	std::uint8_t key_length;
	std::uint16_t reserved;
	std::uint32_t length; /* put: of the value; get: of the buffer */
	std::array<std::byte, krdma::Remote::packed_size> memory; /* the value or the buffer */
	std::array<char, max_key + 1> key;
};

struct Reply {
	std::uint32_t error;  /* an errno; 0: done; ENOENT: no such key */
	std::uint32_t length; /* get: of the value */
};

/* Server ******************************************************************* */

constexpr std::uint32_t most_clients = 64;
constexpr std::uint32_t receives = 128;   /* for all clients */
constexpr std::uint32_t client_sends = 8; /* a client has one request at a time, with two sends */
constexpr std::size_t most_values = 4096;

/* A value in memory that the RNIC may use. A put makes a new one, so gets in progress keep theirs.
 */
struct Value {
	Value(const krdma::ProtectionDomain &pd, std::uint32_t length)
		: bytes(std::max(length, 1U)), size{length}, region{pd, bytes, access::local_write}
	{}

	Bytes bytes;
	std::uint32_t size;
	krdma::MemoryRegion region;
};

class Server {
public:
	explicit Server(const krdma::Address &address)
		: context_{session_.find_local(address)}, pd_{context_},
		  /* room for all completions that can be there at one time */
		  cq_{context_, {.depth = receives + most_clients * client_sends}},
		  shared_{pd_, {.max_wr = receives}}, listener_{context_, address}
	{
		for (std::size_t i = 0; i < receives; i++)
			post(i);
		cq_.on_completion([this](std::span<const krdma::Completion> some) {
			for (const krdma::Completion &one : some)
				completed(one);
		});
		listener_.on_request([this](krdma::ConnectionRequest request) { met(request); });
		std::printf("listening on %s\n", listener_.address().to_string().c_str());
		std::fflush(stdout);
	}

	/* Everything happens in callbacks. */
	[[noreturn]] void run()
	{
		for (;;)
			session_.dispatch(krdma::forever);
	}

private:
	struct Client {
		krdma::QueuePair qp;
		std::optional<krdma::Connection> connection;
		bool closed{};
		bool drained{}; /* its receives have all completed */
	};

	/* work that is not done until the send request with its number completes */
	struct Work {
		std::uint32_t client; /* number of the queue pair */
		std::shared_ptr<Value> value;
		std::string key; /* put: where the value belongs when it has come */
	};

	/* id of a request that has no work; it completes only if it fails */
	static constexpr std::uint64_t no_work = UINT64_MAX;

	void post(std::size_t receive)
	{
		shared_.post(receive, inbox_.slice(receive * sizeof(Request), sizeof(Request)));
	}

	void met(krdma::ConnectionRequest &request)
	try {
		if (clients_.size() == most_clients)
			return; /* a request without an answer is rejected */
		const krdma::QueuePair qp{pd_,
					  cq_,
					  cq_,
					  {.max_send_wr = client_sends,
					   .max_inline = sizeof(Reply),
					   .receives = &shared_}};
		const std::uint32_t number = qp.number();
		Client &client = clients_.emplace(number, Client{qp, {}}).first->second;

		qp.events().on_event([this, number](const krdma::Event &event) {
			if (event.async() == krdma::AsyncCode::qp_last_wqe)
				leave(number, &Client::drained);
		});
		try {
			client.connection = request.accept(qp);
		} catch (...) {
			clients_.erase(number);
			throw;
		}
		client.connection->events().on_event([this, number](const krdma::Event &event) {
			/* a connection that was not established has taken no receive */
			if (event.status && event.type == KRDMA_EVENT_ESTABLISHED)
				leave(number, &Client::drained);
			if (event.status || event.type == KRDMA_EVENT_CLOSED)
				leave(number, &Client::closed);
		});
	} catch (const krdma::Error &error) {
		std::fprintf(stderr, "a client is refused: %s\n", error.what());
	}

	/*
	 * The end of a queue pair discards the completions that were not polled, and with them
	 * receives that all clients share. So take them first, when all have come.
	 */
	void leave(std::uint32_t number, bool Client::*reason)
	{
		const auto found = clients_.find(number);

		if (found == clients_.end())
			return;
		found->second.*reason = true;
		if (!found->second.closed || !found->second.drained)
			return;
		std::array<krdma::Completion, 16> some;
		for (auto taken = cq_.poll(some); !taken.empty(); taken = cq_.poll(some)) {
			for (const krdma::Completion &one : taken)
				completed(one);
		}
		clients_.erase(number);
	}

	/* numbers of works are above those of receives */
	[[nodiscard]] std::uint64_t begin(Work work)
	{
		works_.emplace(next_, std::move(work));
		return next_++;
	}

	void completed(const krdma::Completion &one)
	{
		if (one.id() < receives) {
			Request request;

			std::memcpy(&request, &messages_[one.id() * sizeof(request)],
				    sizeof(request));
			post(one.id());
			if (one.ok())
				serve(one.queue_pair(), request, one.length());
			return;
		}
		/* a request that failed has ended its connection; its client leaves soon */
		const auto found = works_.find(one.id());

		if (found == works_.end())
			return;
		const Work work = std::move(found->second);
		works_.erase(found);
		if (!one.ok() || work.key.empty())
			return;
		if (values_.size() >= most_values && !values_.contains(work.key)) {
			reply(work.client, ENOSPC, 0);
			return;
		}
		values_[work.key] = work.value;
		reply(work.client, 0, 0);
	}

	void serve(std::uint32_t number, const Request &request, std::uint32_t size)
	try {
		if (size != sizeof(request) || !request.key_length ||
		    request.key_length > max_key) {
			drop(number);
			return;
		}
		const std::string key{request.key.data(), request.key_length};
		const krdma::Remote there = krdma::Remote::unpack(request.memory);
		const std::uint32_t length = ntohl(request.length);

		switch (request.operation) {
		case Operation::get:
			get(number, key, there, length);
			return;
		case Operation::put:
			put(number, key, there, length);
			return;
		case Operation::remove:
			reply(number, values_.erase(key) ? 0 : ENOENT, 0);
			return;
		}
		drop(number);
	} catch (const krdma::Error &error) {
		/* it has sent more than one request, or there is no memory for its value */
		std::fprintf(stderr, "a request failed: %s\n", error.what());
		drop(number);
	}

	void get(std::uint32_t number, const std::string &key, krdma::Remote there,
		 std::uint32_t length)
	{
		const auto found = values_.find(key);

		if (found == values_.end()) {
			reply(number, ENOENT, 0);
			return;
		}
		const std::shared_ptr<Value> value = found->second;
		if (value->size > length) {
			reply(number, EMSGSIZE, value->size);
			return;
		}
		/* the reply completes after the Write, so the Write needs no completion of its own
		 */
		if (value->size)
			clients_.at(number).qp.write(no_work, value->region.slice(0, value->size),
						     there, {.signaled = false});
		reply(number, 0, value->size, value);
	}

	void put(std::uint32_t number, const std::string &key, krdma::Remote there,
		 std::uint32_t length)
	{
		if (length > max_value) {
			reply(number, EMSGSIZE, max_value);
			return;
		}
		const auto value = std::make_shared<Value>(pd_, length);
		const std::uint64_t id = begin({number, value, key});

		try {
			clients_.at(number).qp.read(id, value->region.slice(0, length), there);
		} catch (...) {
			works_.erase(id);
			throw;
		}
	}

	void reply(std::uint32_t number, int error, std::uint32_t length,
		   std::shared_ptr<Value> value = {})
	{
		const auto found = clients_.find(number);
		const Reply message{htonl(static_cast<std::uint32_t>(error)), htonl(length)};

		if (found == clients_.end())
			return;
		const std::uint64_t id = begin({number, std::move(value), {}});
		try {
			found->second.qp.send_inline(id, std::as_bytes(std::span{&message, 1}));
		} catch (const krdma::Error &) {
			/* the client has sent more requests than one at a time */
			works_.erase(id);
			drop(number);
		}
	}

	void drop(std::uint32_t number)
	{
		const auto found = clients_.find(number);

		if (found != clients_.end())
			found->second.qp.disconnect(true);
	}

	krdma::Session session_;
	krdma::Context context_;
	krdma::ProtectionDomain pd_;
	std::array<std::byte, receives * sizeof(Request)> messages_{};
	krdma::MemoryRegion inbox_{pd_, messages_, access::local_write};
	krdma::CompletionQueue cq_;
	krdma::SharedReceiveQueue shared_;
	std::unordered_map<std::string, std::shared_ptr<Value>> values_;
	std::map<std::uint64_t, Work> works_;
	std::uint64_t next_{receives};
	std::map<std::uint32_t, Client> clients_; /* by the number of the queue pair */
	krdma::Listener listener_;
};

/* Client ******************************************************************* */

class Store {
public:
	explicit Store(const krdma::Address &server)
		: context_{session_.find_remote(server)}, pd_{context_}, cq_{context_},
		  qp_{pd_, cq_, cq_, {.max_send_wr = 2, .max_recv_wr = 2}},
		  connection_{krdma::Connection::connect(qp_, server, {.timeout = 5s})}
	{
		connection_.established();
	}

	void put(std::string_view key, std::span<const std::byte> value)
	{
		/* memory of no bytes cannot be registered, and the server reads none */
		const Bytes none(1);
		const auto region = krdma::MemoryRegion::read_only(
			pd_, value.empty() ? std::span{none} : value, access::remote_read);

		check(ask(Operation::put, key, region.remote(),
			  static_cast<std::uint32_t>(value.size())));
	}

	/* nothing: there is no such key */
	[[nodiscard]] std::optional<Bytes> get(std::string_view key)
	{
		Bytes value(max_value);
		const krdma::MemoryRegion region{pd_, value,
						 access::local_write | access::remote_write};
		const Reply reply = ask(Operation::get, key, region.remote(), max_value);

		if (reply.error == ENOENT)
			return std::nullopt;
		check(reply);
		value.resize(std::min(reply.length, max_value));
		return value;
	}

	/* false: there is no such key */
	[[nodiscard]] bool remove(std::string_view key)
	{
		const Reply reply = ask(Operation::remove, key, {}, 0);

		if (reply.error == ENOENT)
			return false;
		check(reply);
		return true;
	}

private:
	enum Id : std::uint64_t { request, reply };

	static void check(const Reply &answer)
	{
		if (answer.error)
			throw std::system_error{static_cast<int>(answer.error),
						std::generic_category(), "the server"};
	}

	/* The memory of the request may be used again when the reply is here. */
	[[nodiscard]] Reply ask(Operation operation, std::string_view key, krdma::Remote memory,
				std::uint32_t length)
	{
		Request message{operation,
				static_cast<std::uint8_t>(key.size()),
				0,
				htonl(length),
				memory.pack(),
				{}};

		if (key.empty() || key.size() > max_key)
			throw std::runtime_error{"a key has 1 to 63 bytes"};
		std::ranges::copy(key, message.key.begin());
		std::memcpy(memory_.data(), &message, sizeof(message));
		qp_.receive(reply, region_.slice(sizeof(message), sizeof(Reply)));
		qp_.send(request, region_.slice(0, sizeof(message)));
		for (int left = 2; left > 0; left--) {
			const std::optional<krdma::Completion> done = cq_.wait(5s);

			if (!done)
				throw std::runtime_error{"the server does not answer"};
			if (!done->ok())
				throw std::runtime_error{std::string{done->status_text()} + ' ' +
							 done->vendor_text()};
		}
		Reply answer;
		std::memcpy(&answer, memory_.data() + sizeof(message), sizeof(answer));
		return {ntohl(answer.error), ntohl(answer.length)};
	}

	krdma::Session session_;
	krdma::Context context_;
	krdma::ProtectionDomain pd_;
	krdma::CompletionQueue cq_;
	krdma::QueuePair qp_;
	std::array<std::byte, sizeof(Request) + sizeof(Reply)> memory_{};
	krdma::MemoryRegion region_{pd_, memory_, access::local_write};
	krdma::Connection connection_;
};

/* Return: the exit code. */
int run(std::span<char *> words)
{
	const std::string_view first = words[1];

	if (first == "-l" && words.size() == 3) {
		Server server{krdma::Address::resolve(words[2])};
		server.run();
	}
	const std::string_view verb = words.size() > 3 ? words[2] : "";
	if ((verb != "put" || words.size() != 5) &&
	    ((verb != "get" && verb != "delete") || words.size() != 4))
		return 2;
	Store store{krdma::Address::resolve(first)};
	if (verb == "put") {
		store.put(words[3], std::as_bytes(std::span{std::string_view{words[4]}}));
		return 0;
	}
	bool found = false;
	if (verb == "get") {
		if (const std::optional<Bytes> value = store.get(words[3])) {
			found = true;
			std::fwrite(value->data(), 1, value->size(), stdout);
			std::putchar('\n');
		}
	} else {
		found = store.remove(words[3]);
	}
	if (!found)
		std::fprintf(stderr, "no key '%s'\n", words[3]);
	return found ? 0 : 1;
}

} /* namespace */

int main(int argc, char **argv)
{
	try {
		const int code = argc > 1 ? run({argv, static_cast<std::size_t>(argc)}) : 2;

		if (code == 2)
			std::fprintf(stderr,
				     "usage: %s -l ADDRESS:PORT\n"
				     "       %s HOST:PORT put KEY VALUE | get KEY | delete KEY\n",
				     argv[0], argv[0]);
		return code;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 1;
	}
}
