/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* libkrdma: RDMA through /dev/krdma. This header includes all others. */
#ifndef KRDMA_KRDMA_HPP
#define KRDMA_KRDMA_HPP

#if __cplusplus < 202002L
#error "krdma.hpp needs C++20 (-std=c++20); C and older C++ have <krdma/ual.h>"
#else

#include <krdma/address.hpp>
#include <krdma/connection.hpp>
#include <krdma/error.hpp>
#include <krdma/event.hpp>
#include <krdma/session.hpp>
#include <krdma/verbs.hpp>

#endif /* C++20 */

#endif /* KRDMA_KRDMA_HPP */
