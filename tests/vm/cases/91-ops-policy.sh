#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rules and counters of krdma_ops: which one decides, refusals with a reason, bounds, namespaces, rights, the krdma command
# covers: ops/policy.c ops/peers.c ops/stats.c ops/netlink.c uapi/tools
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

krdma=$VM_REPO/build/tools/krdma
export LD_LIBRARY_PATH=$VM_REPO/build/ual
groups=$PWD/cgroup
no_references() { [ "$(awk '$1 == "krdma_ops" { print $3 }' /proc/modules)" = "$1" ]; }

offload() { on A "$krdma" offload "$@"; }
# refused WHY ARGUMENTS...: wrong usage is 2, the kernel's refusal 1
refused() {
	refuse "$*" offload "${@:2}"
	has "$*" "$1" "$VM_TMP/expect"
}
counter() { offload stats --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }

# one connection of wildcards in the namespace, from this cgroup and for this uid; says what it came to
cat > once.py <<'END'
import os, socket, sys
port, uid = int(sys.argv[1]), int(sys.argv[2])
server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 258)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", port))
server.listen(4)
os.setuid(uid)
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 258)
client.connect(("127.0.0.1", port))
peer, _ = server.accept()
client.sendall(b"hello")
assert peer.recv(5) == b"hello"
protocol = client.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)
print("tcp" if protocol == 6 else "offload")
END
once() { on A timeout "$(patient 20)" python3 once.py "${1:-7000}" "${2:-0}"; }
goes() { same "$1" "$2" "$(once "${@:3}")"; }

ip netns add hostA
ip netns add hostB
on A ip link set lo up
refuse "no module" "$krdma" offload list
has "no module" 'krdma_ops is not loaded' expect
expect "the module loads" insmod "$VM_MODULES/krdma_ops.ko" max_rules=300
offload list
expect "the protocol loads" insmod "$VM_MODULES/tests/offload/offload_loop.ko"
offload list | tee list
name=$(awk 'NR == 2 { print $1 }' list)
[ -n "$name" ] || fail "no protocol"
offload list --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["protocols"][0]["number"]'

say "no rules"
goes "no rules" offload
same "offloaded" 1 "$(counter offloaded)"
same "accepted" 1 "$(counter accepted)"
same "another namespace counts by itself" 0 "$(on B "$krdma" offload stats --json | sed -n 's/.*"offloaded": \([0-9]*\).*/\1/p')"

say "the longest prefix, then the ports, then cgroup and uid"
all=$(offload add connect use tcp)
goes "tcp for all" tcp
[ "$(counter rule)" -ge 1 ] || fail "counter of rules: $(counter rule)"
offload add connect 127.0.0.0/8 use any
goes "any at 127/8" offload
offload add connect 127.0.0.0/24 port 7000-7010 use tcp
goes "tcp at some ports" tcp
goes "another port" offload 7011
one=$(offload add connect 127.0.0.0/24 port 7000 use "$name")
goes "one port, by name" offload
goes "the range still" tcp 7001
offload add connect 127.0.0.0/24 port 7001 use later
goes "a protocol that is not there" tcp 7001
offload add connect 127.0.0.0/24 port 7000 uid nobody use tcp
goes "a user" tcp 7000 65534
goes "not the other" offload 7000 0
offload rules | tee rules
same "order" "$one" "$(awk '$4 == 7000 && $6 == "-" { print $1 }' rules)"
same "the general one is last" "$all" "$(awk 'END { print $1 }' rules)"
offload rules --json | python3 -c '
import json, sys
rules = json.load(sys.stdin)["rules"]
assert rules[0]["use"] == "tcp" and rules[0]["uid"] == 65534, rules
assert rules[-1]["hits"] > 0 and "address" not in rules[-1], rules'
expect "del" offload del "$one"
goes "without the rule for one port" tcp
expect "del all" offload del --all
goes "no rules any more" offload

say "cgroups"
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
mkdir -p "$groups/web/inner" "$groups/other"
offload add connect cgroup "$groups/web" use tcp
# shellcheck disable=SC2016 # for the inner shell
of_group() { on A bash -c 'echo $$ > "$1/cgroup.procs"; exec python3 once.py 7000 0' - "$groups/$1"; }
same "in the cgroup" tcp "$(of_group web)"
same "below it" tcp "$(of_group web/inner)"
same "in another" offload "$(of_group other)"
offload add connect cgroup web/inner use any
same "a deeper one" offload "$(of_group web/inner)"
same "and not above it" tcp "$(of_group web)"
offload rules | tee rules
has "path" '/web/inner ' rules
rmdir "$groups/web/inner"
offload rules | tee rules
has "a cgroup that is gone" '\(gone\)' rules
offload del --all

say "listeners"
offload add listen 127.0.0.1 port 7000 use tcp
goes "a listener of TCP" tcp
goes "another" offload 7002
offload del --all

say "the peer where the protocol was refused is left to TCP for a while"
before=$(counter bad-peer)
goes "a bad peer" tcp
[ "$(counter bad-peer)" -gt "$before" ] || fail "counter of bad peers: $(counter bad-peer)"
[ "$(counter refused)" -ge 1 ] || fail "counter of refusals: $(counter refused)"
goes "another port" offload 7003
bad_peer_s=/sys/module/krdma_ops/parameters/bad_peer_s
echo 1 > $bad_peer_s
offload add listen port 7004 use tcp
goes "refused" tcp 7004
offload del --all
sleep 1.2
goes "forgotten" offload 7004
echo 60 > $bad_peer_s

say "IPv6 rules are not for IPv4"
offload add connect ::/0 use tcp
offload add connect fd00::/8 port 1-65535 use rdma
goes "IPv4" offload 7005
offload del --all

say "refusals"
refused 'longer than its prefix' add connect 10.0.0.1/8 use tcp
refused 'longer than the address' add connect 10.0.0.0/33 use tcp
refused 'give it as IPv4' add connect ::ffff:10.0.0.1 use tcp
refused 'before the first' add connect port 20-10 use tcp
refused 'uid and cgroup only' add socket 10.0.0.1 use tcp
refused 'any or tcp' add socket uid 0 use rdma
refused 'no name of a protocol' add connect use 'sd p'
refused 'no such cgroup' add connect cgroup nonesuch use tcp
refused 'no such cgroup' add connect cgroup 999999999 use tcp
refused 'rule 4294967295: no such rule' del 4294967295
refused 'no such user' add connect uid nonesuch use tcp
refused 'use' add connect 10.0.0.0/8
refused 'is given twice' add connect port 1 port 2 use tcp
refused 'no port' add connect port 65536 use tcp
refused 'wanted' add accept use tcp
offload add connect 10.0.0.0/8 use tcp
refused 'for the same sockets' add connect 10.0.0.0/8 use any
same "one rule" 2 "$(offload rules | wc -l)"
offload del --all
refuse "no right" on A setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" offload add connect use tcp
has "what to do" 'sudo krdma' expect
on A setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" offload rules
expect "root of a user namespace, in its own network namespace" \
	unshare -Urn "$krdma" offload add connect uid 0 use tcp
refuse "a uid that the user namespace does not have" \
	unshare -Urn "$krdma" offload add connect uid 5 use tcp
refuse "not in another network namespace" unshare -Ur "$krdma" offload add connect use tcp

say "messages that no tool makes"
on A python3 "$VM_REPO/tests/vm/progs/ops_netlink.py"

say "as many as there may be; a dump of several parts"
on A python3 "$VM_REPO/tests/vm/progs/ops_netlink.py" fill 300
same "all are told" 300 "$(offload rules --json | grep -c '"id"')"
same "once" 300 "$(offload rules --json | sed -n 's/.*"id": //p' | sort -u | wc -l)"
refused 'max_rules' add connect 10.9.9.9 use tcp
on B "$krdma" offload add connect 10.9.9.9 use tcp
offload rules | tail -2

say "the namespaces go with their rules"
ip netns del hostB
wait_for 10 no_references 1 || fail "references"
rmmod offload_loop
wait_for 15 rmmod krdma_ops || fail "rmmod"
