#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: unmodified servers and their clients give the same results on TCP, with a rule for one end of a connection, and with rules for both, over the road of the host: nginx, wrk, haproxy, memcached, rsync, redis, PostgreSQL, vsftpd, lftp
# covers: ops
# kernel: stock
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/programs.sh
. "$VM_REPO/tests/vm/guest/programs.sh"

ip link set lo up
left_out nginx wrk haproxy memcached rsync redis-server "$postgres/postgres" vsftpd
results tcp
ops_load
krdma offload add connect use any
by_tcp results clients
krdma offload add listen use any
by_road results road
all_gone
unload krdma_ops
counted $(($(wc -l < tcp.results) * 3)) 0
