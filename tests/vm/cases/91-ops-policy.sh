#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rules, counters and limits of krdma_ops: which one decides, refusals with a reason, bounds, namespaces, rights, the krdma command
# covers: ops/rules.c ops/limits.c ops/peers.c ops/stats.c ops/netlink.c uapi/tools
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

krdma=$VM_REPO/build/tools/krdma
export LD_LIBRARY_PATH=$VM_REPO/build/ual
groups=$PWD/cgroup

offload() { on A "$krdma" offload "$@"; }
# refused WHY ARGUMENTS...: wrong usage is 2, the kernel's refusal 1
refused() {
	refuse "$*" offload "${@:2}"
	has "$*" "$1" "$VM_TMP/expect"
}

# one connection in the namespace, from this cgroup and for this uid; says what it came to
cat > once.py <<'END'
import json, os, socket, subprocess, sys
port, uid = int(sys.argv[1]), int(sys.argv[2])
listener = socket.create_server(("127.0.0.1", port))
os.setuid(uid)
client = socket.create_connection(("127.0.0.1", port))
server, _ = listener.accept()
for _ in range(2):
    client.sendall(b"hello")
    assert server.recv(5) == b"hello"
    server.sendall(b"hello")
    assert client.recv(5) == b"hello"
END
once() { on A timeout "$(patient 20)" python3 once.py "${1:-7000}" "${2:-0}"; }
# goes WHAT road|tcp [PORT [UID]]
goes() {
	local before
	before=$(counter changed A)
	once "${@:3}"
	case $2 in
	road) [ "$(counter changed A)" -gt "$before" ] || { offload stats -n; fail "$1: went by TCP"; } ;;
	tcp) same "$1: changes" "$before" "$(counter changed A)" ;;
	esac
}

ip netns add hostA
ip netns add hostB
on A ip link set lo up
refuse "no module" "$krdma" offload list
has "no module" 'krdma_ops is not loaded' expect
ops_load max_rules=300
offload list
offload roads | tee roads
has "the road of the host" '^local ' roads
offload roads --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["roads"][0]["name"]'

say "no rules"
goes "no rules" tcp

say "the longest prefix, then the ports, then cgroup and uid"
offload add listen use any
all=$(offload add connect use any)
goes "any for all" road
[ "$(counter changed A)" -ge 1 ] || fail "counter of changes"
same "another namespace counts by itself" 0 "$(counter changed B)"
offload add connect 127.0.0.0/8 use tcp
goes "tcp at 127/8" tcp
[ "$(counter rule-tcp A)" -ge 1 ] || fail "counter of rules: $(counter rule-tcp A)"
offload add connect 127.0.0.0/24 port 7000-7010 use any
goes "any at some ports" road
goes "another port" tcp 7011
one=$(offload add connect 127.0.0.0/24 port 7000 use tcp)
goes "one port" tcp
goes "the range still" road 7001
offload add connect 127.0.0.0/24 port 7001 use local
goes "a road by name" road 7001
offload add connect 127.0.0.0/24 port 7002 use later
goes "a road that is not there" tcp 7002
offload add connect 127.0.0.0/24 port 7000 user nobody use any
goes "a user" road 7000 65534
goes "not the other" tcp 7000 0
offload list | tee rules
same "order" "$one" "$(awk '$4 == 7000 && $6 == "-" { print $1 }' rules)"
same "the general one is last" "$all" "$(awk '$2 == "connect" { last = $1 } END { print last }' rules)"
offload list --json | python3 -c '
import json, sys
rules = [r for r in json.load(sys.stdin)["rules"] if r["direction"] == "connect"]
assert rules[0]["use"] == "any" and rules[0]["uid"] == 65534, rules
assert rules[-1]["hits"] > 0 and "address" not in rules[-1], rules'
expect "del" offload del "$one"
goes "without the rule for one port" road
expect "flush" offload flush
goes "no rules any more" tcp

say "cgroups"
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
mkdir -p "$groups/web/inner" "$groups/other"
offload add listen use any
offload add connect cgroup "$groups/web" use any
# shellcheck disable=SC2016 # for the inner shell
once() { on A bash -c 'echo $$ > "$1/cgroup.procs"; exec python3 once.py 7000 0' - "$groups/${of_group:-.}"; }
# of GROUP WHAT road|tcp
of() { of_group=$1 goes "${@:2}"; }
of web "in the cgroup" road
of web/inner "below it" road
of other "in another" tcp
offload add connect cgroup web/inner use tcp
of web/inner "a deeper one" tcp
of web "and not above it" road
offload list | tee rules
has "path" '/web/inner ' rules
offload flush
once() { on A timeout "$(patient 20)" python3 once.py "${1:-7000}" "${2:-0}"; }

say "listeners"
offload add connect use any
offload add listen use any
offload add listen 127.0.0.1 port 7000 use tcp
goes "a listener of TCP" tcp
goes "another" road 7002
offload flush

say "limits"
offload limits | tee limits
has "rules" '^rules ' limits
expect "a limit" offload limits connections 0
offload add connect use any
offload add listen use any
goes "no connection may have a road" tcp
[ "$(counter limit A)" -ge 1 ] || fail "counter of limits: $(counter limit A)"
expect "as before" offload limits connections default
goes "as before" road
expect "a limit" offload limits memory 0
goes "no memory for roads" tcp
expect "as before" offload limits memory default
refuse "more than the host's" offload limits rules 301
offload flush

say "IPv6 rules are not for IPv4"
offload add connect ::/0 use tcp
offload add connect fd00::/8 port 1-65535 use sdp
offload add connect 0.0.0.0/0 use any
offload add listen use any
goes "IPv4" road 7005
offload flush

say "refusals"
refused 'longer than its prefix' add connect 10.0.0.1/8 use tcp
refused 'longer than the address' add connect 10.0.0.0/33 use tcp
refused 'give it as IPv4' add connect ::ffff:10.0.0.1 use tcp
refused 'no port or range' add connect port 20-10 use tcp
refused 'no name of a road' add connect use 'sd p'
refused 'no such cgroup' add connect cgroup 999999999 use tcp
refused 'rule 4294967295: no such rule' del 4294967295
refused 'no such user' add connect user nonesuch use tcp
refused 'is given twice' add connect port 1 port 2 use tcp
refused 'no port' add connect port 65536 use tcp
refused 'no address or prefix' add accept use tcp
offload add connect 10.0.0.0/8 use tcp
refused 'for the same sockets' add connect 10.0.0.0/8 use any
same "one rule" 2 "$(offload list | wc -l)"
offload flush
refuse "no right" on A setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" offload add connect use tcp
has "what to do" 'sudo krdma' expect
on A setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" offload list
expect "root of a user namespace, in its own network namespace" \
	unshare -Urn "$krdma" offload add connect user 0 use tcp
refuse "a uid that the user namespace does not have" \
	unshare -Urn "$krdma" offload add connect user 5 use tcp
refuse "not in another network namespace" unshare -Ur "$krdma" offload add connect use tcp

say "messages that no tool makes"
on A python3 "$VM_REPO/tests/vm/progs/ops_netlink.py"

say "as many as there may be; a dump of several parts"
on A python3 "$VM_REPO/tests/vm/progs/ops_netlink.py" fill 300
same "all are listed" 300 "$(offload list --json | grep -c '"id"')"
same "once" 300 "$(offload list --json | sed -n 's/.*"id": //p' | sort -u | wc -l)"
refused 'limit' add connect 10.9.9.9 use tcp
on B "$krdma" offload add connect 10.9.9.9 use tcp
offload list | tail -2

say "the namespaces go with their rules"
umount "$groups"
ip netns del hostB
ip netns del hostA
all_gone
unload krdma_ops
