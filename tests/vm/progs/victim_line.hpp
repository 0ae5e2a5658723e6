/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The output of krdma_victim: flat JSON objects, one a line, which krdma_hostile reads. */
#ifndef KRDMA_TEST_VICTIM_LINE_HPP
#define KRDMA_TEST_VICTIM_LINE_HPP

#include <cstdint>
#include <iostream>
#include <string>

namespace victim {

/** class Line - one flat JSON object on standard output */
class Line {
public:
	explicit Line(const char *event)
	{
		text("event", event);
	}
	Line &text(const std::string &key, const std::string &value)
	{
		return add(key, '"' + value + '"');
	}
	Line &number(const std::string &key, std::uint64_t value)
	{
		return add(key, std::to_string(value));
	}
	void print()
	{
		std::cout << '{' << fields_ << '}' << std::endl;
	}

private:
	Line &add(const std::string &key, const std::string &value)
	{
		fields_ += (fields_.empty() ? "\"" : ",\"") + key + "\":" + value;
		return *this;
	}
	std::string fields_;
};

} /* namespace victim */

#endif /* KRDMA_TEST_VICTIM_LINE_HPP */
