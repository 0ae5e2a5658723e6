#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: unmodified servers and their clients give the same results on TCP, under krun without an offload protocol, and under krun over a loopback protocol: nginx, wrk, haproxy, memcached, rsync, redis, PostgreSQL, vsftpd, lftp
# covers: ops uapi/krun tests/offload
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
ops_load bad_peer_s=1
by=("$krun")
results native
loop_load
rises some offloaded results loop
all_gone
unload offload_loop krdma_ops
counted $(($(wc -l < tcp.results) * 3)) 0
