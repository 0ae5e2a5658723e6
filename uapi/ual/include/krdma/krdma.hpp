/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* libkrdma: RDMA through /dev/krdma. This header has all of it. */
#ifndef KRDMA_KRDMA_HPP
#define KRDMA_KRDMA_HPP

#include <krdma/address.hpp>
#include <krdma/connection.hpp>
#include <krdma/event.hpp>
#include <krdma/session.hpp>
#include <krdma/verbs.hpp>

#endif /* KRDMA_KRDMA_HPP */
