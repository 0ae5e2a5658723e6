#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: ibv_devices, ibv_devinfo and rdma link show the RNICs
# covers: kal/ib/device kal/ib/port kal/core/netdev
# limit: 60
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
expect "ibv_devices" on A ibv_devices
cp expect devices
has "device" '^ *krdma0' devices
has "node GUID is not 0" '^ *krdma0[[:space:]]+[0-9a-f]*[1-9a-f][0-9a-f]*$' devices

expect "ibv_devinfo" on A ibv_devinfo -v -d krdma0
cp expect info
has "transport" 'transport:.*iWARP' info
has "node guid" 'node_guid:.*[1-9a-f]' info
has "system image guid" 'sys_image_guid:.*[1-9a-f]' info
has "vendor" 'vendor_id:.*0x[0-9a-f]*[1-9a-f]' info
has "port state" 'state:.*PORT_ACTIVE' info
has "link layer" 'link_layer:.*Ethernet' info
has "MTU" 'active_mtu:.*1024' info
has "GID" 'GID\[ *0\]:.*[1-9a-f]' info
for limit in max_qp max_qp_wr max_cq max_cqe max_mr max_pd max_qp_rd_atom max_mr_size max_srq; do
	has "$limit" "$limit:[[:space:]]*(0x)?[0-9a-f]*[1-9a-f]" info
done
[ "$(awk '/max_sge:/ { print $2 }' info)" -ge 16 ] || fail "fewer than 16 elements: $(grep max_sge info)"

rdma -j -d dev show krdma0 > dev.json
has "node type" '"node_type": *"rnic"|"node_type":"rnic"' dev.json
on A rdma -j link show krdma0/1 > link.json
has "netdev" '"netdev":"vethA"' link.json

say "port state follows the netdev"
on B ip link set vethB down
down() { rdma -j link show krdma0/1 | grep '"state":"DOWN"' > /dev/null; }
expect "the port goes down with the carrier" wait_for 10 down
on B ip link set vethB up
expect "and comes back" wait_for 10 rnic_active krdma0
