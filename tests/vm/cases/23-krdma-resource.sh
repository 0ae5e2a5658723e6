#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: krdma resource and top: connections, listeners and contexts with user, process and command
# covers: kal/netlink kal/core/owner kal/chardev kal/cm/endpoint kal/cm/ep_table kal/cm/ep_calls kal/cm/ep_view kal/cm/lanes uapi/tools
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

export PATH=$VM_REPO/build/tools:$PATH LD_LIBRARY_PATH=$VM_REPO/build/ual
export KRDMA_UVP_DIR=$VM_REPO/build/uvp_soft

alice=65532 bob=65533
conns=$VM_PROGS/krdma_conns


# holds EXPRESSION: it is true of the object "o" in the file "seen"; P has the processes of programs
holds() {
	python3 - "$1" "$(declare -p pid_of)" << 'END'
import json, re, sys
with open("seen", encoding="utf-8") as f:
    o = json.load(f)
P = {name: int(pid) for name, pid in re.findall(r'\[(\w+)\]="(\d+)"', sys.argv[2])}
sys.exit(not eval(f"({sys.argv[1]})"))
END
}

# sees TEXT HOST USER EXPRESSION: what "krdma resource" shows that user on the host
sees() {
	on "$2" setpriv --reuid "$3" --regid "$3" --clear-groups krdma resource --json > seen || fail "$1: $?"
	holds "$4" && return
	cat seen
	fail "$1: $4"
}

# the same as a condition to wait for
shows() {
	on "$1" krdma resource --json > seen && holds "$2"
}

nothing='not o["listeners"] and not o["connections"] and not o["processes"]'

hosts_up
note_resources

say "nobody"
sees "nothing" A 0 "$nothing"
sees "nothing" B $bob "$nothing"

say "two programs of different users on each side"
start rootserver B krdma ping --server "$ADDR_B" 7810
start bobserver B setpriv --reuid $bob --regid $bob --clear-groups krdma ping --server "$ADDR_B" 7811
for name in rootserver bobserver; do
	wait_for 10 grep -q listening $name.log || fail "$(cat $name.log)"
done
start rootclient A krdma ping "$ADDR_B" 7810 -c 100000 -i 0.1
start aliceclient A setpriv --reuid $alice --regid $alice --clear-groups \
	krdma ping "$ADDR_B" 7811 -c 100000 -i 0.1
for name in rootclient aliceclient; do
	wait_for 10 grep -q 'seq=2 ' $name.log || fail "$(cat $name.log)"
done
sees "root: both listeners" B 0 '{(l["local"], l["pid"], l["command"], l["uid"]) for l in o["listeners"]} ==
	{("10.77.0.2:7810", P["rootserver"], "krdma", 0), ("10.77.0.2:7811", P["bobserver"], "krdma", 65533)}'
sees "root: both connections" B 0 '{(c["local"], c["pid"], c["uid"], c["state"], c["rnic"]) for c in o["connections"]} ==
	{("10.77.0.2:7810", P["rootserver"], 0, "connected", "krdma1"), ("10.77.0.2:7811", P["bobserver"], 65533, "connected", "krdma1")}
	and all(c["remote"].startswith("10.77.0.1:") and c["qp"] > 1 for c in o["connections"])'
sees "root: both processes" B 0 '{(p["pid"], p["command"], p["rnic"], p["contexts"], p["qp"]) for p in o["processes"]} ==
	{(P["rootserver"], "krdma", "krdma1", 1, 1), (P["bobserver"], "krdma", "krdma1", 1, 1)}
	and all(p["pd"] >= 1 and p["cq"] >= 1 and p["mr"] >= 1 and p["srq"] == p["mw"] == 0 for p in o["processes"])'
sees "the sum is the RNIC's" B 0 'all(sum(p[k] for p in o["processes"]) == o["rnics"]["krdma1"]["objects"][k]
	for k in ("contexts", "pd", "cq", "qp", "mr"))'
sees "bob: his own" B $bob 'all(r["pid"] == P["bobserver"] and r["uid"] == 65533
	for k in ("listeners", "connections", "processes") for r in o[k])
	and [len(o[k]) for k in ("listeners", "connections", "processes")] == [1, 1, 1]'
sees "alice has nothing there" B $alice "$nothing"
sees "alice: her own" A $alice '[(c["remote"], c["pid"]) for c in o["connections"]] == [("10.77.0.2:7811", P["aliceclient"])]
	and [p["pid"] for p in o["processes"]] == [P["aliceclient"]] and not o["listeners"]'
sees "root: another namespace is not shown" A 0 '{c["pid"] for c in o["connections"]} == {P["rootclient"], P["aliceclient"]}
	and not o["listeners"]'
expect "root without the privilege: as any other user" on B setpriv --bounding-set -net_admin --inh-caps -net_admin \
	krdma resource --json
cp expect seen
holds '[l["uid"] for l in o["listeners"]] == [0]' || fail "$(cat seen)"
expect "as text" on B krdma resource
has "a listener" "^krdma1 +listening +10\.77\.0\.2:7811 +- +- +[a-z0-9]+ +krdma\(${pid_of[bobserver]}\)$" expect
has "a connection" "^krdma1 +connected +10\.77\.0\.2:7810 +10\.77\.0\.1:[0-9]+ +[0-9]+ +root +krdma\(${pid_of[rootserver]}\)$" expect
has "a process" "^${pid_of[rootserver]} +krdma +root +krdma1 +1 +1 " expect

say "a user namespace of bob's has no right in this network namespace"
setpriv --reuid $bob --regid $bob --clear-groups unshare --user --map-root-user true || fail "no user namespace"
on B setpriv --reuid $bob --regid $bob --clear-groups unshare --user --map-root-user krdma resource --json > seen
holds '[(l["local"], l["uid"]) for l in o["listeners"]] == [("10.77.0.2:7811", 0)]' || fail "$(cat seen)"

say "a PID namespace has no name for processes outside of it"
on B unshare --pid --fork krdma resource --json > seen
holds 'len(o["connections"]) == 2 and all(r["pid"] is None and r["command"] is None
	for k in ("listeners", "connections", "processes") for r in o[k])' || fail "$(cat seen)"

say "ss knows no process, top does"
expect "sockets" on B ss -tlnp "sport = :7810"
has "the port" '10\.77\.0\.2:7810' expect
! grep -q 'users:' expect || fail "ss shows a process: say so in docs/operate.md"
expect "top" on A krdma top --once -i 0.5
has "the client" " krdma\(${pid_of[rootclient]}\) +10\.77\.0\.1:[0-9]+ - 10\.77\.0\.2:7810$" expect
on A krdma top --once -i 0.5 --json > seen
holds '{(q["pid"], q["command"]) for q in o["qps"]} >= {(P[n], "krdma") for n in ("rootclient", "aliceclient")}' ||
	fail "$(cat seen)"

say "they go with the programs"
kill_hard aliceclient
wait_for 10 shows A '[c["pid"] for c in o["connections"]] == [P["rootclient"]] and len(o["processes"]) == 1' ||
	fail "$(cat seen)"
wait_for 10 shows B 'len(o["connections"]) == 1' || fail "$(cat seen)"
for name in rootclient rootserver bobserver; do
	kill -INT "${pid_of[$name]}"
	finish $name 10
done
wait_for 10 shows A "$nothing" || fail "$(cat seen)"
wait_for 10 shows B "$nothing" || fail "$(cat seen)"

say "the process that made it has ended, another one has the file"
cat > contexts.py << 'END'
# contexts.py INDEX NUMBER [orphan|odd]: slow contexts in one open file; orphan: then the parent ends;
# odd: of a process whose name is an order to the terminal
import fcntl, os, struct, sys, time
if sys.argv[3:] == ["odd"]:
    with open("/proc/self/comm", "wb") as comm:
        comm.write(b"a\033[31mb")
fd = os.open("/dev/krdma", os.O_RDWR)
for i in range(int(sys.argv[2])):
    fcntl.ioctl(fd, ord("k") << 8 | 0x10, bytearray(struct.pack("=4I3Q2I", 48, int(sys.argv[1]), 0, 1, 0, 0, 0, 0, 0)))
if sys.argv[3:] == ["orphan"] and os.fork():
    os._exit(0)
print("process", os.getpid(), flush=True)
time.sleep(1000)
END
index=$(on A krdma list --json | python3 -c 'import json, sys
print([r["index"] for r in json.load(sys.stdin)["rnics"] if r["name"] == "krdma0"][0])')
start orphan A python3 contexts.py "$index" 1 orphan
finish orphan 10
wait_for 10 grep -q process orphan.log
sees "no process, but its command" A 0 '[(p["pid"], p["command"], p["contexts"]) for p in o["processes"]] == [(None, "python3", 1)]'
kill "$(awk '{ print $2 }' orphan.log)"
wait_for 10 shows A "$nothing" || fail "$(cat seen)"

say "a name is only shown"
start odd A python3 contexts.py "$index" 1 odd
wait_for 10 grep -q process odd.log
sees "the name" A 0 '[p["command"] for p in o["processes"]] == ["a?[31mb"]'
kill_hard odd
wait_for 10 shows A "$nothing" || fail "$(cat seen)"

say "more than one message: contexts"
start many A python3 contexts.py "$index" 700
wait_for 20 grep -q process many.log || fail "$(cat many.log)"
sees "all of them" A 0 '[(p["pid"], p["contexts"], p["pd"]) for p in o["processes"]] == [(P["many"], 700, 0)]'
kill_hard many
wait_for 10 shows A "$nothing" || fail "$(cat seen)"

say "more than one message: connections of rdma_cm"
serve server B 7175 "$conns" -s -n 400 "$ADDR_B"
start client A "$conns" -n 400 -k go "$ADDR_B"
connected='[(c["state"], c["pid"]) for c in o["connections"]] == [("connected", P["client"])] * 400'
wait_for 60 shows A "$connected" || fail "$(cat client.log; head -30 seen)"
holds 'len({c["local"] for c in o["connections"]}) == len({c["qp"] for c in o["connections"]}) == 400' || fail "twice"
sees "the listener and its connections" B 0 '[(l["pid"], l["command"]) for l in o["listeners"]] == [(P["server"], "krdma_conns")]
	and [c["pid"] for c in o["connections"]] == [P["server"]] * 400 and not o["processes"]'
sees "not bob's" B $bob "$nothing"
expect "rdma resource" rdma resource show qp link krdma0/1
has "the same process" "pid ${pid_of[client]} comm krdma_conns" expect
expect "rdma resource" rdma resource show cm_id link krdma1/1
has "the same process" "pid ${pid_of[server]} comm krdma_conns" expect

say "the RNIC goes in the middle"
# looks UNTIL: the command succeeds each time, until there is such a file
looks() {
	until [ -e "$1" ]; do
		on A krdma resource --json > looks.out || return 1
		on B krdma resource --json > looks.out || return 1
		echo >> looks.count
	done
}
looks stop &
looking=$!
wait_for 10 test -s looks.count || fail "it does not look"
on A rdma link delete krdma0
wait_for 30 shows A "$nothing" || fail "$(head -30 seen)"
touch go
finish_any client 60
finish_any server 60
rnic_add A
wait_for 10 rnic_active krdma0 || fail "krdma0 does not become active"
seen=$(wc -l < looks.count)
wait_for 20 eval "[ \$(wc -l < looks.count) -gt $((seen + 2)) ]" || fail "it does not look any more"
touch stop
wait $looking || fail "krdma resource failed: $(cat looks.out)"
sees "nothing" A 0 "$nothing"
sees "nothing" B 0 "$nothing"
check_no_leak
