// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's answers to queries of a device and its port: attributes, link, GID. An iWARP
 * port has one GID. Its first bytes are the netdev's address, as rdma_cm builds it. The EUI-64
 * of that address follows, so that neither half of the GID is zero.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <net/addrconf.h>
#include <rdma/ib_mad.h>
#include <krdma/compat_verbs.h>

#include "../core/core.h"
#include "bridge.h"

static int kal_ib_query_device(struct ib_device *base,
			       struct ib_device_attr *attr,
			       struct ib_udata *udata)
{
	struct kal_ib_device *dev = to_kal_ib_device(base);
	const struct ri_rnic_attr *rattr = &dev->rnic->attr;

	/* of newer kernels the core asks without a caller in user space */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	*attr = rattr->limits;
	attr->vendor_id = rattr->vendor_id;
	attr->vendor_part_id = rattr->vendor_part_id;
	attr->hw_ver = rattr->hw_version;
	attr->fw_ver = rattr->fw_version;
	attr->sys_image_guid = base->node_guid;
	if (rattr->caps & RI_CAP_ALLOW_DELETE)
		attr->kernel_cap_flags |= IBK_ALLOW_USER_UNREG;
	if (rattr->caps & RI_CAP_SG_GAPS)
		attr->kernel_cap_flags |= IBK_SG_GAPS_REG;
	return 0;
}

static void kal_ib_get_fw_str(struct ib_device *base, char *str)
{
	u64 version = to_kal_ib_device(base)->rnic->attr.fw_version;

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u",
		 (u32)(version >> 32), (u16)(version >> 16), (u16)version);
}

/* The address of loopback is 0, and tunnels often have none. */
bool kal_ib_netdev_has_mac(const struct net_device *ndev)
{
	return ndev->addr_len == ETH_ALEN && !is_zero_ether_addr(ndev->dev_addr);
}

/*
 * Use a made-up speed for a netdev that cannot report its speed or is being removed. ib_core would
 * log every query of the former.
 */
static void kal_ib_speed(struct ib_device *base, const struct net_device *ndev,
			 struct ib_port_attr *attr)
{
	if (ndev->ethtool_ops->get_link_ksettings &&
	    !ib_get_eth_speed(base, KAL_IB_PORT, &attr->active_speed,
			      &attr->active_width))
		return;
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_4X;
}

static void kal_ib_port_state(const struct net_device *ndev,
			      struct ib_port_attr *attr)
{
	bool up = READ_ONCE(ndev->reg_state) == NETREG_REGISTERED &&
		  kal_netdev_link_up(ndev);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP :
				IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	/* largest InfiniBand MTU that fits into the netdev's MTU */
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(ndev->mtu));
}

static int kal_ib_query_port(struct ib_device *base, u32 port,
			     struct ib_port_attr *attr)
{
	/* the RNIC holds the netdev longer than ib_core has the device */
	const struct net_device *ndev = to_kal_ib_device(base)->rnic->netdev;

	kal_ib_speed(base, ndev, attr);
	kal_ib_port_state(ndev, attr);
	attr->gid_tbl_len = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = U32_MAX;
	return 0;
}

static int kal_ib_get_port_immutable(struct ib_device *base, u32 port,
				     struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int kal_ib_query_gid(struct ib_device *base, u32 port, int index,
			    union ib_gid *gid)
{
	struct kal_ib_device *dev = to_kal_ib_device(base);
	const struct net_device *ndev = dev->rnic->netdev;
	const u8 *mac = kal_ib_netdev_has_mac(ndev) ? ndev->dev_addr : dev->mac;

	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, mac, ETH_ALEN);
	if (COMPAT_GID_BY_NETDEV)
		addrconf_addr_eui48(gid->raw + 8, mac);
	return 0;
}

const struct ib_device_ops kal_ib_port_ops = {
	.get_dev_fw_str = kal_ib_get_fw_str,
	.get_port_immutable = kal_ib_get_port_immutable,
	.query_device = kal_ib_query_device,
	.query_gid = kal_ib_query_gid,
	.query_port = kal_ib_query_port,
};
