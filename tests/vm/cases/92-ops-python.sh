#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: Python's own tests of sockets have the same outcomes on TCP, with a rule for clients alone, and with rules for both ends, over the road of the host
# covers: ops tests/vm/progs/ops_suites.py
# kernel: stock
# limit: 1500
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

suites=(test_socket test_asyncio.test_streams test_asyncio.test_sock_lowlevel test_socketserver test_epoll)
[ -n "${VM_QUICK:-}" ] || suites+=(test_selectors test_asyncio.test_sendfile test_asyncio.test_server
	test_asyncio.test_events test_asyncore test_httplib test_ftplib test_smtplib test_ssl)

# Debian's Python may come without its tests, and newer ones lack modules
there() { /usr/bin/python3 -c 'import sys, importlib.util; sys.exit(not importlib.util.find_spec(sys.argv[1]))' "test.$1" 2> /dev/null; }
if ! there test_socket; then
	say "left out: the tests of $(/usr/bin/python3 --version) are not there (libpython3.*-testsuite)"
	exit
fi
for suite in "${suites[@]}"; do
	there "$suite" || say "left out: $suite is not there"
done

# outcomes MODE: of all suites, in MODE.list; what was said is in MODE.log
outcomes() {
	local mode=$1 suite
	: > "$mode.list"
	for suite in "${suites[@]}"; do
		there "$suite" || continue
		say "$mode: $suite"
		timeout "$(patient 300)" /usr/bin/python3 "$VM_REPO/tests/vm/progs/ops_suites.py" "$suite" \
			> out 2>> "$mode.log" < /dev/null || echo "$suite ended with $?" >> "$mode.list"
		grep -aE '^(ok|skipped|failed|error) test' out >> "$mode.list" || true
	done
	sort -o "$mode.list" "$mode.list"
	cut -d ' ' -f 1 "$mode.list" | sort | uniq -c
}

# differences of the road, each with its reason
known() {
	cat << 'END'
END
}

# compare MODE: with TCP, but for what is known
compare() {
	diff tcp.list "$1.list" | grep '^[<>]' | grep -vF -f <(known; echo '<none>') > "$1.diff" || return 0
	cat "$1.diff"
	# what the tests said of it
	sed -n 's/^> \(failed\|error\) \([^ ]*\).*/\2/p' "$1.diff" | grep -F -f - "$1.log" || true
	return 1
}

ip link set lo up
outcomes tcp
[ "$(grep -c ^ok tcp.list)" -gt 100 ] || fail "hardly a test runs"
faults=0
ops_load
krdma offload add connect use any
by_tcp outcomes clients
compare clients || faults=$((faults + 1))
krdma offload add listen use any
by_road outcomes road
compare road || faults=$((faults + 1))
all_gone
unload krdma_ops
cp ./*.list "$VM_OUT/" || true
[ $faults = 0 ] || fail "other outcomes than on TCP"
counted "$(($(wc -l < tcp.list) * 3))" 0
