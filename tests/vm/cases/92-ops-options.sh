#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: options beside marks, and what never becomes a connection: kTLS at both ends, and while other threads use the socket; TCP_ULP krdma and tls on a listener with peers; TCP-AO; sockets that must have SDP and do not; handshakes that do not end before the module goes
# covers: ops tests/vm/progs/ops_others.py
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
export KRDMA="env LD_LIBRARY_PATH=$VM_REPO/build/ual $VM_REPO/build/tools/krdma"
others() { timeout "$(patient 90)" python3 "$VM_REPO/tests/vm/progs/ops_others.py" "$@"; }
# alike COMMAND...: on sockets that no rule takes, and on marked ones
alike() {
	by_tcp expect "TCP: $*" others --plain "$@"
	cat expect
	expect "marked: $*" others "$@"
	cat expect
}

ip link set lo up
modprobe -q tls || true
ops_load explicit=0 connect_timeout_ms=1500
mark_some
attempt "kTLS at both ends" alike tls_both
attempt "kTLS while other threads use the socket" alike tls_race "$(either 10 20)"

has_ao() { others ao_there; }
ao() {
	by_tcp expect "TCP" others --plain ao
	by_road expect "marked" others ao
}
attempt_if has_ao "TCP-AO" ao

unmark
asks() {
	expect "TCP_ULP" others asks
	cat expect
}
attempt "a listener with peers asks" by_road asks
unmark
must_have_sdp() {
	expect "without a rule" others sdp_alone EACCES
	expect "a rule that goes" others sdp_late
	parameter krdma_ops explicit Y
	expect "allowed" others sdp_alone
	cat expect
	parameter krdma_ops explicit N
}
attempt "sockets that must have SDP, without it" by_tcp must_have_sdp
all_gone

# what answers nothing: the requests are TCP's when the listener, or the module, has gone
ip link add dark0 type dummy
ip address add 10.9.0.1/24 dev dark0
ip link set dark0 up
unanswered() {
	local server
	rm -f asked go
	mark any 10.9.0.1
	expect "the listener goes" others unanswered
	unload krdma_ops
	ops_load explicit=0
	mark any 10.9.0.1
	others unanswered stays > unanswered.log 2>&1 &
	server=$!
	wait_for 20 test -e asked || { cat unanswered.log; fail "no requests"; }
	parameter krdma_ops shutdown 1
	unload krdma_ops
	# TCP repeats its answers
	sleep 2
	touch go
	wait $server || { cat unanswered.log; fail "the listener"; }
	sleep 2
}
attempt "handshakes that do not end" unanswered
ip link del dark0
! loaded krdma_ops || unload krdma_ops
attempts_verdict
