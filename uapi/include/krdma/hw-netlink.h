/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Generic netlink family of krdma_hw.ko: which RDMA devices of the kernel are adopted as RNICs.
 * Only in the initial network namespace.
 */
#ifndef KRDMA_HW_NETLINK_H
#define KRDMA_HW_NETLINK_H

#define KRDMA_HW_GENL_NAME	"krdma_hw"
#define KRDMA_HW_GENL_VERSION	1

enum krdma_hw_cmd {
	KRDMA_HW_CMD_UNSPEC,
	/* dump: one message for each device, with all attributes */
	KRDMA_HW_CMD_GET,
	/*
	 * NAME and CHOICE; CAP_NET_ADMIN. It takes effect before the answer, or EINPROGRESS: it
	 * will, when calls of the device's users have ended; ADOPTED and ERROR tell. ENODEV: there
	 * is no such device; EOPNOTSUPP: its driver is not on the list; else the error of the
	 * adoption.
	 */
	KRDMA_HW_CMD_SET,
};

enum krdma_hw_attr {
	KRDMA_HW_ATTR_UNSPEC,
	KRDMA_HW_ATTR_NAME,	/* string: of the device */
	KRDMA_HW_ATTR_CHOICE,	/* u8: enum krdma_hw_choice */
	KRDMA_HW_ATTR_ADOPTED,	/* u8: 1: it is an RNIC */
	KRDMA_HW_ATTR_ERROR,	/* u32: errno of the last adoption, 0: none */
	KRDMA_HW_ATTR_DRIVER,	/* u8: enum krdma_hw_driver */
	KRDMA_HW_ATTR_DRIVER_NAME,	/* string: module of the driver */
	KRDMA_HW_ATTR_END,
};

#define KRDMA_HW_ATTR_MAX	(KRDMA_HW_ATTR_END - 1)

enum krdma_hw_choice {
	KRDMA_HW_BY_PARAMETER,	/* krdma_hw's parameter "devices" decides */
	KRDMA_HW_ADOPT,
	KRDMA_HW_RELEASE,
	KRDMA_HW_ADOPT_FORCED,	/* with any driver */
};

/* what is known of the driver of a device */
enum krdma_hw_driver {
	KRDMA_HW_DRIVER_UNLISTED,	/* nothing: adopted by KRDMA_HW_ADOPT_FORCED only */
	KRDMA_HW_DRIVER_READ,	/* its source was read, it was not tested */
	KRDMA_HW_DRIVER_TESTED,
};

#endif /* KRDMA_HW_NETLINK_H */
