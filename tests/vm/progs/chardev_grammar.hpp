/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The grammar of the commands of /dev/krdma, for krdma_chardev_fuzz: all commands of
 * krdma/krdma-abi.h, each byte of their structures, and the meaning of each value.
 */
#ifndef KRDMA_TEST_CHARDEV_GRAMMAR_HPP
#define KRDMA_TEST_CHARDEV_GRAMMAR_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace grammar {

/* kinds of objects; handles are kept by kind */
enum class Object {
	context,
	pd,
	cq,
	srq,
	qp,
	mr,
	mw,
	listener,
	conn,
	request, /* a connection request */
	neigh,
	port,
	any,
};
inline constexpr std::size_t objects = static_cast<std::size_t>(Object::any);

/* the meaning of a field, which says which values are worth trying */
enum class Kind {
	handle,  /* in: handle of an Object */
	made,    /* out: the handle of a new Object */
	index,   /* of an RNIC */
	ifindex, /* of a network device */
	count,   /* a count, a depth */
	flags,   /* of a mask */
	choice,  /* up to a number */
	access,
	pointer, /* to user memory */
	length,  /* of it */
	short_length,
	priv,    /* struct krdma_private: the soft RNIC's private bytes in and out */
	address, /* struct krdma_addr of this host, or of a listener */
	wrs,     /* array of work requests */
	cookie,
	fd, /* of a dma-buf, or of something else */
	stag,
	out, /* not read */
	reserved,
};

struct Field {
	std::uint32_t offset;
	std::uint32_t size;
	Kind kind;
	std::uint32_t arg;
};

struct Command {
	const char *name;
	unsigned long number;
	std::uint32_t size;
	std::uint32_t weight; /* relative frequency */
	std::vector<Field> fields;
};

const std::vector<Command> &commands();

/*
 * Does the table have all bytes of all structures, and all command numbers of the kernel?
 * Throws if not. @fd: an open /dev/krdma.
 */
void check_complete(int fd);

} /* namespace grammar */

#endif /* KRDMA_TEST_CHARDEV_GRAMMAR_HPP */
