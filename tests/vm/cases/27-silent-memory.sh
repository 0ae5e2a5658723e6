#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: an RNIC is removed while commands of /dev/krdma wait for memory whose page faults are not answered (userfaultfd)
# limit: 90
# covers: kal/chardev kal/core kal/ib
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
for command in region change context queue resize; do
	mkfifo "$command.in"
	start "$command" A bash -c 'exec "$@" < '"$command.in" - "$VM_PROGS/krdma_stalled" "$ADDR_A" "$command"
	exec 9> "$command.in"
	wait_for 20 grep -q stalled "$command.log" || { cat "$command.log"; fail "it does not wait"; }
	expect "link del" on A timeout "$(patient 10)" rdma link delete krdma0
	# waits for the end of the one before
	expect "the same name again" on A timeout "$(patient 10)" rdma link add krdma0 type "$LINK_TYPE" netdev vethA
	wait_for 10 rnic_active krdma0
	echo >&9
	exec 9>&-
	finish "$command" 20
	cat "$command.log"
	has "an answer" "^answer: (done|No such device)$" "$command.log"
done
