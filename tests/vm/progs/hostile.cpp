/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The common part of the hostile peer's cases: see hostile.hpp. */
#include "hostile.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <thread>
#include <utility>

namespace hostile {

/* The victim's output ****************************************************** */

std::uint64_t Line::number(const std::string &key) const
{
	const std::string name = '"' + key + "\":";
	const auto at = text_.find(name);

	if (at == std::string::npos)
		throw Failure{"no " + key + " in " + text_};
	return std::stoull(text_.substr(at + name.size()));
}

std::string Line::text(const std::string &key) const
{
	const std::string name = '"' + key + "\":\"";
	const auto at = text_.find(name);

	if (at == std::string::npos)
		throw Failure{"no " + key + " in " + text_};
	const auto begin = at + name.size();
	return text_.substr(begin, text_.find('"', begin) - begin);
}

Log::Log(const std::string &path) : file_{path}
{
	if (!file_)
		throw Failure{"cannot read " + path};
}

std::optional<Line> Log::read_line()
{
	std::string text;

	file_.clear();
	std::getline(file_, text);
	partial_ += text;
	/* at the end of the file: the line may not be complete yet */
	if (file_.eof() || file_.fail())
		return {};
	return Line{std::exchange(partial_, {})};
}

Line Log::next(const std::string &event, std::optional<std::uint32_t> id, Milliseconds limit)
{
	const auto deadline = std::chrono::steady_clock::now() + limit;

	for (;;) {
		const auto line = read_line();

		if (line && line->is(event) && (!id || line->number("id") == *id))
			return *line;
		if (line)
			continue;
		if (std::chrono::steady_clock::now() > deadline)
			throw Failure{"the victim does not print '" + event +
				      "' of connection id " + std::to_string(id.value_or(0))};
		std::this_thread::sleep_for(2ms);
	}
}

void Log::skip()
{
	while (read_line())
		;
}

/* Counters ***************************************************************** */

static constexpr std::array counted{"terminates_sent",    "terminates_received", "rx_crc_errors",
				    "rx_protocol_errors", "rx_access_errors",    "rx_no_buffer"};

Counters::Values Counters::read() const
{
	Values values;

	for (const char *name : counted) {
		std::ifstream file{folder_ + '/' + name};

		if (!(file >> values[name]))
			throw Failure{"cannot read the counter " + folder_ + '/' + name};
	}
	return values;
}

void Counters::begin()
{
	if (!folder_.empty())
		before_ = read();
}

void Counters::expect(const Values &moved) const
{
	const auto deadline = std::chrono::steady_clock::now() + 2s;
	Values wanted = before_;

	if (folder_.empty())
		return;
	for (const auto &[name, by] : moved)
		wanted.at(name) += by;
	/* values of sysfs may be some milliseconds old */
	for (;;) {
		const Values now = read();

		if (now == wanted)
			return;
		if (std::chrono::steady_clock::now() < deadline) {
			std::this_thread::sleep_for(5ms);
			continue;
		}
		for (const auto &[name, value] : now)
			require(value == wanted.at(name), "counter " + name + " is " +
								  std::to_string(value) + ", not " +
								  std::to_string(wanted.at(name)));
	}
}

/* Did the segment name memory that it may not use? */
static bool is_access(std::uint16_t code)
{
	return code >> 8 == 0x01 || code == 0x0209 || (code >= 0x1100 && code <= 0x1103);
}

/* The counters that the victim's RNIC must increase for a Terminate that it sent. */
static Counters::Values counted_for(const After &after)
{
	Counters::Values moved{{"terminates_sent", 1}, {"rx_protocol_errors", 1}};

	if (after.code == 0x2002)
		moved["rx_crc_errors"] = 1;
	if (after.access.value_or(is_access(after.code)))
		moved["rx_access_errors"] = 1;
	if (after.code == 0x1202 && after.queue == 0)
		moved["rx_no_buffer"] = 1;
	return moved;
}

/* The asynchronous event by which the victim's program learns of that Terminate. */
static std::string_view event_for(std::uint16_t code)
{
	if (code >> 8 == 0x01 || code >> 8 == 0x11)
		return "local access violation work queue error";
	return "invalid request local work queue error";
}

/* Session ****************************************************************** */

Octets Target::content(std::size_t offset, std::size_t count) const
{
	Octets all(count);

	for (std::size_t i = 0; i < count; i++)
		all[i] = victim::pattern(region, offset + i);
	return all;
}

Session::Session(const Settings &settings)
	: settings_{settings}, log_{settings.log}, counters_{settings.counters}
{
	const Line ready = log_.next("ready");

	require(ready.number("region_size") == victim::region_size, "another victim");
	settings_.depth = ready.number("depth");
	for (std::uint8_t i = 0; i < victim::regions; i++) {
		const std::string name = victim::region_names.at(i);

		targets_.push_back(
			{.region = static_cast<victim::Region>(i),
			 .stag = static_cast<std::uint32_t>(ready.number(name + "_stag")),
			 .to = ready.number(name + "_to")});
	}
}

Order Session::order(std::uint8_t receives, std::uint16_t wishes)
{
	counters_.begin();
	return {.id = ++last_id_, .receives = receives, .wishes = wishes};
}

wire::MpaFrame request_with(const Order &order)
{
	const auto data = order.encode();

	return {.data = {data.begin(), data.end()}};
}

Connection Session::establish(const Order &order, int receive_buffer)
{
	Connection connection = connect(receive_buffer);

	connection.send(request_with(order).build());
	const wire::MpaFrame reply = connection.receive_mpa(wire::mpa::reply_key);
	require(reply.revision == 1, "the Reply's revision");
	if (reply.flags & wire::mpa::R)
		throw Rejected{"the Reply rejects"};
	require(!(reply.flags & wire::mpa::M), "the Reply wants markers");
	return connection;
}

/* Changed regions, without the receive buffers if @but_local. */
static std::string changes(const Line &end, bool but_local)
{
	std::istringstream all{end.text("changed")};
	std::string one, some;

	while (all >> one)
		if (!but_local || !one.starts_with("local:"))
			some += (some.empty() ? "" : " ") + one;
	return some;
}

/* No memory changed that the peer has no right to write to. */
static bool only_writable_changed(const Line &end)
{
	const std::string all = end.text("changed");

	return std::ranges::none_of(
		std::array{"read:", "foreign:", "gone:"},
		[&](const char *name) { return all.find(name) != std::string::npos; });
}

void Session::check_end(const Order &order, const After &after)
{
	const Line end = log_.next("end", order.id);
	const auto want = [&end](bool ok, const char *what) {
		if (!ok)
			throw Failure{std::string{"the victim's "} + what + ": " + end.all()};
	};
	const auto same = [&end](const char *key, std::string_view wanted) {
		const std::string got = end.text(key);

		return wanted.empty() ? got.empty() : got.find(wanted) != std::string::npos;
	};

	want(end.number("lost") == 0, "work requests are lost");
	want(same("send_error", after.send_error), "send error");
	want(after.result.empty() || same("result", after.result), "end");
	want(after.async.empty() || same("async", after.async), "asynchronous event");
	if (after.code) {
		want(end.text("async") == event_for(after.code), "asynchronous event");
		counters_.expect(counted_for(after));
	}
	if (after.changed == "*") {
		want(only_writable_changed(end), "memory");
		return;
	}
	want(end.number("receives_ok") == after.receives_ok, "receives");
	want(same("receive_error", after.receive_error), "receive error");
	const bool received = after.receives_ok || !after.receive_error.empty();
	want(changes(end, received) == after.changed, "memory");
}

void Session::check_alive()
{
	const Order order = this->order();
	Connection connection = establish(order);

	connection.send(wire::fpdu(wire::send(1, "are you there?")));
	expect_alive(connection);
	connection.close();
	check_end(order, {.receives_ok = 1});
}

/* Checks ******************************************************************* */

void require(bool ok, const std::string &what)
{
	if (!ok)
		throw Failure{what};
}

void expect_octets(Connection &connection, View wanted, std::string_view what)
{
	const Octets got = connection.receive(wanted.size());

	if (!std::ranges::equal(got, wanted))
		throw Failure{std::string{what} + ": wanted " + wire::hex(wanted) + ", got " +
			      wire::hex(got)};
}

void expect_terminate(Connection &connection, const wire::Segment &wanted)
{
	const Octets got = connection.receive_fpdu();
	const Octets want = wanted.build();

	if (got != want)
		throw Failure{"Terminate: wanted " + wire::hex(want) + ", got " + wire::hex(got)};
	require(connection.expect_end() == wire::End::fin, "RST behind a Terminate");
}

void expect_alive(Connection &connection, std::uint32_t read_msn)
{
	connection.send(wire::fpdu(wire::read_request(read_msn, {})));
	expect_octets(connection, wire::fpdu(wire::read_response(0, 0, {})),
		      "zero-length Read Response");
}

} /* namespace hostile */
