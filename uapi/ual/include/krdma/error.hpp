/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Errors that name their cause. */
#ifndef KRDMA_ERROR_HPP
#define KRDMA_ERROR_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include <krdma/krdma-abi.h>

namespace krdma {

/** KRDMA_CAUSE_*: why a call was refused. A newer kernel may have more. */
using Cause = krdma_cause;
/** KRDMA_UNIT_*: what Error::value() is. */
using Unit = krdma_unit;

/**
 * An error of the library: the errno, in std::generic_category(), and the cause where it is
 * known. what() has the object, the errno and the cause in words: "queue pair: Cannot allocate
 * memory (the RNIC allows 1,024 queue pairs)".
 */
class Error : public std::system_error {
public:
	/** @param detail the cause; @param reason its words, empty: those of cause_text() */
	Error(int err, const std::string &what, const krdma_error &detail = {},
	      const std::string &reason = {});
	Error(const Error &) noexcept = default;
	Error &operator=(const Error &) noexcept = default;
	~Error() override;

	/** KRDMA_CAUSE_NONE: only the errno is known, as from a kernel that records no causes. */
	[[nodiscard]] Cause cause() const noexcept
	{
		return static_cast<Cause>(detail_.cause);
	}
	/** The limit or the state that refused. */
	[[nodiscard]] std::uint64_t value() const noexcept
	{
		return detail_.value;
	}
	[[nodiscard]] Unit unit() const noexcept
	{
		return static_cast<Unit>(detail_.unit);
	}
	/** The cause in words; empty if it is not known. */
	[[nodiscard]] const std::string &reason() const noexcept;
	[[nodiscard]] const char *what() const noexcept override;
	[[nodiscard]] const krdma_error &raw() const noexcept
	{
		return detail_;
	}

private:
	struct Texts {
		std::string reason;
		std::string what;
	};

	krdma_error detail_;
	std::shared_ptr<const Texts> texts_; /* shared: the copy of an exception may not throw */
};

/** A cause in words: "the RNIC allows 1,024 queue pairs"; empty for KRDMA_CAUSE_NONE. */
[[nodiscard]] std::string cause_text(const krdma_error &error);

/**
 * The code of a failed completion (Completion::vendor_error()) in words, for RNICs that give the
 * code of a Terminate, as the software RNIC does: "DDP tagged buffer: the range is outside the
 * memory". Empty for 0, the number for a code without a name.
 */
[[nodiscard]] std::string terminate_text(std::uint32_t vendor_error);

} /* namespace krdma */

#endif /* KRDMA_ERROR_HPP */
