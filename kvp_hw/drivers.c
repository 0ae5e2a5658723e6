// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Drivers whose devices are adopted. A driver that nobody has looked at may crash or leak memory at
 * a call that only a user library makes as a rule, so its devices need the administrator's force.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include <krdma/hw-netlink.h>
#include <krdma/compat_verbs.h>

#include "drivers.h"

/**
 * hw_driver_status() - what is known of a driver
 * @id: enum rdma_driver_id
 *
 * The table of drivers in docs/krdma-hw.md has what was read.
 *
 * Return: enum krdma_hw_driver. Context: any.
 */
u8 hw_driver_status(unsigned int id)
{
	switch (id) {
	case RDMA_DRIVER_RXE:
	case RDMA_DRIVER_SIW:
		return KRDMA_HW_DRIVER_TESTED;
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_CXGB4:
	case RDMA_DRIVER_ERDMA:
	case RDMA_DRIVER_HFI1:
	case RDMA_DRIVER_HNS:
	case RDMA_DRIVER_IRDMA:
	case RDMA_DRIVER_MANA:
	case RDMA_DRIVER_MLX4:
	case RDMA_DRIVER_MLX5:
	case RDMA_DRIVER_MTHCA:
	case RDMA_DRIVER_OCRDMA:
	case RDMA_DRIVER_QEDR:
	case RDMA_DRIVER_QIB:
	case RDMA_DRIVER_VMW_PVRDMA:
		return KRDMA_HW_DRIVER_READ;
	default:
		return KRDMA_HW_DRIVER_UNLISTED;
	}
}
