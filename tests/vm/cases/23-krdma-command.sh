#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: every subcommand of krdma on two RNICs, ping by both paths, the examples of libkrdma
# covers: uapi/tools uapi/ual uapi/examples kal/chardev kal/ib/sysfs
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

export PATH=$VM_REPO/build/tools:$PATH LD_LIBRARY_PATH=$VM_REPO/build/ual
export KRDMA_UVP_DIR=$VM_REPO/build/uvp_soft

# json TEXT HOST EXPRESSION WORD...: what krdma says as JSON: the expression in Python is
# true of the object "o", or of "lines", the objects of a live command
json() {
	local text=$1 host=$2 expression=$3
	shift 3
	expect "$text" on "$host" krdma "$@" --json
	python3 - "$expression" "$VM_TMP/expect" << 'END' || { cat "$VM_TMP/expect"; fail "$text: $expression"; }
import json, sys
with open(sys.argv[2], encoding="utf-8") as f:
    text = f.read()
try:
    o = json.loads(text)
except ValueError:
    o = None
lines = [o] if o else [json.loads(line) for line in text.splitlines()]
sys.exit(not eval(f"({sys.argv[1]})"))
END
}

# status TEXT WANTED HOST WORD...: krdma ends with that status and says why
status() {
	local text=$1 wanted=$2 host=$3 rc=0
	shift 3
	on "$host" krdma "$@" > out 2> err || rc=$?
	[ "$rc" = "$wanted" ] || { cat out err; fail "$text: status $rc, not $wanted"; }
	[ "$wanted" = 0 ] || [ -s err ] || fail "$text: nothing on stderr"
}

# says NAME REGEX: a line of what runs in the background
says() { grep -qE -- "$2" "$1.log"; }

# until_says NAME REGEX: and wait for it
until_says() {
	wait_for 10 says "$@" && return
	cat "$1.log"
	fail "$1 does not say '$2'"
}

# completes WORD...: what bash would offer for the last of them
completes() {
	# shellcheck disable=SC2016
	on A bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _krdma; echo "${COMPREPLY[*]}"' \
		"$VM_REPO/uapi/tools/krdma.bash" "$@"
}

hosts_up
note_resources

say "list, show, stat, resource"
json "list" A 'len(o["rnics"]) >= 1 and any(r["name"] == "krdma0" and r["netdev"] == "vethA" and r["up"]
	and r["mtu"] == 1500 and r["user_library"] == "libkrdma-uvp-soft.so" for r in o["rnics"])' list
expect "list as text" on A krdma list
has "a line for the RNIC" '^krdma0 +vethA +up +1500 +iWARP' expect
mac=$(on A cat /sys/class/net/vethA/address)
json "show" A "o['rnics'][0]['mac'] == '$mac' and o['rnics'][0]['limits']['qp'] == 65536" show krdma0
json "clock of completions" A 'o["rnics"][0]["clock_khz"] == 1000000 and o["rnics"][0]["timestamp_mask"] == "f" * 16' show krdma0
json "show by network device" A 'o["rnics"][0]["name"] == "krdma0"' show vethA
json "capabilities by name" A '"srq" in o["rnics"][0]["caps"] and "memory_window" in o["rnics"][0]["device_flags"]' show krdma0
expect "show as text" on A krdma show krdma0
has "capabilities" '^ +caps +srq .*dmabuf' expect
has "no limit" '^ +mr_size +no limit$' expect
has "limits" '^ +qp_wr +32768' expect
has "clock" '^ +clock_khz +1000000$' expect
has "its bits" '^ +timestamp_mask +ffffffffffffffff$' expect
expect "stat for Prometheus" on A krdma stat --prometheus
has "a state" '^krdma_rnic_up\{rnic="krdma0"\} 1$' expect
has "a counter" '^krdma_tx_fpdus_total\{rnic="krdma0"\} [0-9]+$' expect
has "its type" '^# TYPE krdma_tx_fpdus_total counter$' expect
json "stat" A 'len(o["counters"]["krdma0"]) > 20' stat krdma0
json "resource" A 'o["rnics"]["krdma0"]["objects"]["qp"] == 0 and o["own"]["max_objects"] > 0' resource

say "link"
expect "remove it by its network device" on A krdma link del vethA
status "no longer there" 1 A link del krdma0
expect "no error" on A krdma link del vethA --missing-ok
expect "make it" on A krdma link add vethA --name krdma0
wait_for 10 rnic_active krdma0 || fail "krdma0 does not become active"
status "the device has one" 1 A link add vethA
has "it says so" 'vethA has an RNIC' err
expect "no error" on A krdma link add vethA --exist-ok
status "no such device" 1 A link add nosuch
has "it says so" 'nosuch: no such network device: No such device' err
status "another RNIC has that name" 1 A link add lo --name krdma0
has "it says so" 'an RDMA device has the name krdma0' err
status "a name that is too long" 2 A link add lo --name "$(printf '%064d' 0)"
has "it says so" 'at most 63 bytes' err
for name in 'a b' a/b a%d; do
	status "$name is no name" 2 A link add lo --name "$name"
done
status "two formats" 2 A stat --prometheus --json
status "neither" 2 A link
status "no name of a device" 2 A link add a/b
say "link --persist, with a systemctl of the test"
mkdir bin
cat > bin/systemctl << END
#!/bin/bash
# units that are enabled are files in $PWD/enabled; a restart fails if there is $PWD/broken
echo "\$*" >> $PWD/systemctl.log
case \$1 in
is-enabled) [ -e "$PWD/enabled/\${!#}" ] ;;
enable) touch "$PWD/enabled/\${!#}" ;;
disable) rm -f "$PWD/enabled/\${!#}" ;;
restart) [ ! -e $PWD/broken ] ;;
esac
END
chmod +x bin/systemctl
mkdir enabled
mkdir -p /run/systemd/system
before=$PATH
PATH=$PWD/bin:$PATH
enabled() { ls enabled; }
status "a typo" 1 A link add nosuch --persist --name some
has "what it is, and how to mean it" 'nosuch: no such network device; --missing-ok' err
same "nothing is enabled" "" "$(enabled)"
[ ! -e /etc/krdma ] || fail "the typo has settings"
status "for a device that comes later" 0 A link add nosuch --persist --name some --missing-ok
same "it is enabled" "krdma@nosuch.service" "$(enabled)"
[ -e /etc/krdma/nosuch.conf ] || fail "it has no settings"
! grep '^restart' systemctl.log || fail "and waited for"
status "no more" 0 A link del nosuch --persist
same "it is not" "" "$(enabled)"
[ ! -e /etc/krdma ] || fail "settings stay"
status "nothing of that name" 1 A link del nosuch --persist
has "it says so" 'nosuch: no RNIC, and krdma@nosuch.service is not enabled' err
status "no error" 0 A link del nosuch --persist --missing-ok
touch broken
status "a unit that does not start" 1 A link add lo --persist --name some
has "where to look" "krdma@lo.service does not start and is not enabled \\(journalctl -u 'krdma@lo.service'\\)" err
same "it is not left enabled" "" "$(enabled)"
[ ! -e /etc/krdma ] || fail "it has settings"
touch enabled/krdma@lo.service
status "one that was enabled before" 1 A link add lo --persist
same "it stays enabled" "krdma@lo.service" "$(enabled)"
status "--missing-ok alone" 2 A link add lo --missing-ok
PATH=$before
rm -r /run/systemd/system
rc=0
on A setpriv --bounding-set -net_admin --inh-caps -net_admin krdma link del krdma0 > out 2> err || rc=$?
same "status without privilege" 1 "$rc"
has "it says so" 'CAP_NET_ADMIN' err

say "exit codes"
status "no subcommand" 2 A
status "unknown subcommand" 2 A frobnicate
has "its name" "no subcommand 'frobnicate'" err
status "no such RNIC" 1 A show nobody
has "those that there are" 'nobody: No such device \(RNICs: .*krdma0 on vethA' err
status "no such network device" 1 A route "$ADDR_B" oif nosuch
has "its hint" 'nosuch: No such device \(ip link shows the network devices\)$' err
status "no device of a persistent release" 2 A release
status "nothing to persist" 2 A adopt --persist
status "neither forced nor released" 2 A adopt siw0 --force --release
status "help" 0 A --help
status "no message" 2 A ping "$ADDR_B" 7999 -c 0
# output that cannot be written is no success
for word in --help --version list; do
	rc=0
	on A krdma $word > /dev/full 2> err || rc=$?
	same "status of '$word' to a full device" 1 "$rc"
	has "why" 'No space left on device' err
done
status "bad address" 2 A ping 10.77.0 7000
status "no such host" 1 A ping host.invalid 7000
status "nobody listens" 1 A ping "$ADDR_B" 7999
status "nobody listens" 1 A ping "$ADDR_B:7999"
status "no port" 2 A ping "$ADDR_B"
status "no port" 2 A ping "$ADDR6_B"
status "port 0" 2 A ping "[$ADDR6_B]:0"

say "help, colours, completion"
for command in list show link adopt release stat resource mib route neigh addr port monitor top ping; do
	expect "help of $command" on A krdma "$command" --help
	has "usage of $command" "^Usage: krdma $command " expect
	has "JSON of $command" '^  -j,--json  ' expect
	has "exit codes of $command" '^Exit codes: 0: ' expect
	status "$command with an option that it has not" 2 A "$command" --frob
	has "what to do" '--help' err
done
has "both uses of ping" '^Usage: krdma ping ADDR PORT \| --server \[ADDR\] PORT \[OPTIONS\]$' expect
expect "on a terminal" on A env TERM=linux script -qec "krdma list" /dev/null
has "colours" $'^\033\\[1mRNIC' expect
expect "on a terminal that has none" on A env TERM=dumb script -qec "krdma list" /dev/null
! grep -q $'\033' expect || fail "colours in spite of TERM=dumb"
expect "on a terminal without colours" on A env NO_COLOR=1 script -qec "krdma list" /dev/null
has "the list" '^RNIC' expect
! grep -q $'\033' expect || fail "colours in spite of NO_COLOR"
same "subcommands" "port ping" "$(completes krdma p)"
same "options" "--server --size --slow" "$(completes krdma ping "$ADDR_B" --s)"
same "network devices" vethA "$(completes krdma route "$ADDR_B" oif veth)"
[[ " $(completes krdma show '') " = *" krdma0 "* ]] || fail "no RNIC is offered to krdma show"
same "commands of offload" "stats sockets" "$(completes krdma offload s)"
same "the words of a rule" "listen" "$(completes krdma offload add l)"
same "the options of a rule" "--service" "$(completes krdma offload add connect --s)"
same "no devices, but rules" "--persist" "$(completes krdma offload del --p)"
same "network devices of a link" vethA "$(completes krdma link add veth)"
same "RNICs and devices of a link" "krdma0" "$(completes krdma link del kr)"
same "a user" root "$(completes krdma offload add connect --user roo)"

say "the manual page"
man -l "$VM_REPO/uapi/tools/krdma.1" > page 2> err
[ ! -s err ] || { cat err; fail "groff complains"; }
# each command of --help is described under COMMANDS
sed -n '/^COMMANDS/,/^OPTIONS/p' page > commands
on A krdma --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p' > subcommands
[ "$(wc -l < subcommands)" -gt 10 ] || { cat subcommands; fail "subcommands"; }
while read -r command; do
	grep -qE "^ +(krdma )?$command( |\$|,)|^ +[a-z]+, $command\$" commands || fail "$command is not described"
done < subcommands
has "words are apart" 'resource\. +JSON output' page

say "ping"
for path in fast slow; do
	slow=()
	[ $path = fast ] || slow=(--slow)
	start server B krdma ping --server "$ADDR_B" 7800 "${slow[@]}" -c 3 --json
	until_says server listening
	has "path of the server" "\"fast\":$([ $path = fast ] && echo true || echo false)" server.log
	json "ping, $path" A "o['summary']['received'] == 100 and o['summary']['fast'] == $([ $path = fast ] &&
		echo True || echo False) and 0 < o['summary']['min_us'] <= o['summary']['p50_us'] <= o['summary']['max_us']" \
		ping "$ADDR_B" 7800 -c 100 -i 0 -q "${slow[@]}"
	cat expect
	json "ping with a line each" A '[l["seq"] for l in lines[:-1]] == [1, 2, 3] and lines[-1]["summary"]["sent"] == 3' \
		ping "$ADDR_B" 7800 -c 3 -i 0.01 "${slow[@]}"
	expect "ping with events, $path" on A krdma ping "$ADDR_B" 7800 -c 3 -i 0.05 -b 100000 -e "${slow[@]}"
	cat expect
	has "three came back" '3 sent, 3 came back' expect
	finish server 10
done
json "counters of it" A 'o["counters"]["krdma0"]["tx_bytes"] > 300000' stat krdma0
json "only those that counted" A 'all(o["counters"]["krdma0"].values())' stat -n krdma0

say "top, of a queue pair with traffic, and of nobody's business"
start server B krdma ping --server "$ADDR_B" 7803
until_says server listening
start client A krdma ping "$ADDR_B" 7803 -c 100000 -i 0 -q -b 4096
wait_for 20 on A bash -c "krdma top --once -i 0.3 --json | grep -q '\"remote\":\"$ADDR_B:7803\"'" ||
	fail "no queue pair with traffic"
json "rates of the queue pair" A 'any(q["remote"] == "10.77.0.2:7803" and q["rates"]["tx_bytes"] > 4096
	and q["rates"]["rx_messages"] > 1 and q["qp"] > 1 for q in o["qps"])' top --once -i 0.5
json "sum" A 'sum(q["rates"]["tx_bytes"] for q in o["qps"]) <= 1.3 * (o["rates"]["tx_bytes"] + o["rates"]["same_host_bytes"]) + 100000' \
	top --once -i 0.5
expect "as text" on A krdma top --once -i 0.3
has "a line of it" '^[0-9]+ +krdma0 .* 10\.77\.0\.1:[0-9]+ - 10\.77\.0\.2:7803$' expect
expect "not asked for" on A krdma top --once -i 0.1 --qps 0
! grep -q '^QP ' expect || fail "queue pairs"
expect "without privilege" on A setpriv --bounding-set -net_admin --inh-caps -net_admin krdma top --once -i 0.1 --json
has "not for everybody" '"qps":\[\]' expect
expect "the same as text" on A setpriv --bounding-set -net_admin --inh-caps -net_admin krdma top --once -i 0.1
has "it says so" '^queue pairs: only for root' expect
kill -INT "${pid_of[client]}"
finish client 10
kill -INT "${pid_of[server]}"
finish server 10

say "interrupted: a server, and a client in the middle"
start server B krdma ping --server "[$ADDR6_B]:7801"
until_says server listening
start client A krdma ping "[$ADDR6_B]:7801" -c 1000 -i 0.05
until_says client 'seq=3 '
kill -INT "${pid_of[client]}"
finish client 10
has "what there was" ' sent, [0-9]+ came back' client.log
until_says server '^\[fd77::1\]:[0-9]+: [0-9]+ messages$'
kill -INT "${pid_of[server]}"
finish server 10

say "interrupted: while it connects, and while it closes"
for signal in INT TERM; do
	start mute B python3 -c "import socket, time
s = socket.create_server(('$ADDR_B', 7804))
print('listening', flush=True)
c = s.accept()
print('called', flush=True)
time.sleep(1000)"
	until_says mute listening
	start client A krdma ping "$ADDR_B" 7804 -t 30
	until_says mute called
	kill -$signal "${pid_of[client]}"
	finish client 5
	has "nothing was sent" ' 0 sent, 0 came back$' client.log
	kill_hard mute
done
paths=$(cat /sys/module/krdma_soft/parameters/same_host)
same_host 0
start server B krdma ping --server "$ADDR_B" 7805
until_says server listening
start client A krdma ping "$ADDR_B" 7805 -c 1000 -i 0.3 -t 30
until_says client 'seq=3 '
# nothing of its end reaches the server
on A tc qdisc add dev vethA root netem loss 100%
kill -INT "${pid_of[client]}"
finish client 5
has "what there was" ' sent, [0-9]+ came back' client.log
on A tc qdisc del dev vethA root
kill -INT "${pid_of[server]}"
finish server 10
same_host "$paths"

say "top"
json "rates" A 'o["rnic"] == "krdma0" and o["interval_s"] > 0.1 and "tx_bytes" in o["rates"]' top --once -i 0.2
expect "top as text" on A krdma top -n 2 -i 0.1
same "two tables without control characters" 2 "$(grep -c '^RNIC ' expect)"
! grep -q $'\033' expect || fail "colours beside a terminal"

say "examples"
examples=$VM_REPO/build/examples
start watch A "$examples/watch_rnics" 600
until_says watch '^krdma0 on vethA'
start echo B "$examples/listen_echo" "$ADDR_B:7802"
until_says echo listening
run_on A 10 "$examples/connect_send" "$ADDR_B:7802"
has "a message" "came back through krdma0, without system calls" client.log
finish echo 10
has "the server's word" '^19 bytes sent back to 10.77.0.1' echo.log
# while it serves one client, in one of its two threads, another one comes
start echo B "$examples/listen_echo" "$ADDR_B:7806"
until_says echo listening
start first A krdma ping "$ADDR_B" 7806 -c 2 -i 2
until_says first 'seq=1 '
refuse "the second client" on A "$examples/connect_send" "$ADDR_B:7806"
finish_any first 20
finish echo 20
has "the first was served" '^64 bytes sent back to 10.77.0.1' echo.log

say "files of /sys/class/infiniband, as node_exporter's collector reads them"
cat > collector.py << 'END'
import os, re, sys
top = "/sys/class/infiniband"
def read(*path):
    with open(os.path.join(top, *path), encoding="ascii") as f:
        return f.read().strip()
for device in os.listdir(top):
    print(device, *(read(device, name) for name in ("board_id", "fw_ver", "hca_type", "hw_rev")))
    for port in os.listdir(f"{top}/{device}/ports"):
        where = (device, "ports", port)
        for name in ("state", "phys_state"):
            assert re.fullmatch(r"\d+: \w+", read(*where, name)), name
        assert re.match(r"\d+(\.\d+)? Gb/sec ", read(*where, "rate"))
        counters = {name: int(read(*where, "counters", name)) for name in os.listdir(os.path.join(top, *where, "counters"))}
        own = {name: int(read(*where, "hw_counters", name)) for name in ("tx_bytes", "rx_bytes", "tx_fpdus", "rx_fpdus")}
        print(counters, own)
        assert counters == {"port_xmit_data": own["tx_bytes"] // 4, "port_rcv_data": own["rx_bytes"] // 4,
                            "port_xmit_packets": own["tx_fpdus"], "port_rcv_packets": own["rx_fpdus"]}
        assert counters["port_xmit_data"] > 0
END
expect "the collector" python3 collector.py
cat expect
has "a device" '^krdma0 krdma_soft [0-9.]+ krdma [0-9a-f]+$' expect

say "route, addr, neigh, mib against what ip says"
json "route" A 'o["source"] == "10.77.0.1" and o["next_hop"] == "10.77.0.2" and not o["gateway"] and not o["local"]
	and o["dev"] == "vethA" and o["mtu"] == 1500 and o["rnic"] == "krdma0" and o["rnic_index"] > 0' route get "$ADDR_B"
json "the same without get, IPv6" A 'o["source"] == "fd77::1" and o["dev"] == "vethA"' route "$ADDR6_B" from "$ADDR6_A" oif vethA
json "local" A 'o["local"]' route get "$ADDR_A"
status "no route" 1 A route get 192.0.2.1
status "no route, IPv6" 1 A route get 2001:db8::1
status "no such network device" 1 A neigh get "$ADDR_B" dev nosuch
status "no such network device" 1 A route get "$ADDR_B" oif nosuch
on A ip route add 192.0.2.0/24 via "$ADDR_B"
json "gateway" A 'o["gateway"] and o["next_hop"] == "10.77.0.2"' route get 192.0.2.1
json "local addresses" A 'o["addresses"][0]["address"] == "10.77.0.1" and o["addresses"][0]["dev"] == "vethA"' addr "$ADDR_B"
peer=$(on B cat /sys/class/net/vethB/address)
on A ip neigh flush dev vethA
json "resolved" A "o['link_address'] == '$peer' and o['status'] == 0" neigh get "$ADDR_B" dev vethA --resolve
json "known" A "o['link_address'] == '$peer'" neigh "$ADDR_B" dev vethA
expect "neighbour as text" on A krdma neigh "$ADDR_B" dev vethA
has "like ip neigh" "^10.77.0.2 dev vethA lladdr $peer " expect
status "nobody there" 1 A neigh 10.77.0.99 dev vethA -r
json "MIB" A 'o["mib"]["tcpActiveOpens"] > 0 and len(o["mib"]) > 40' mib

say "port"
start port A krdma port "$ADDR_A" 0 --json
until_says port '"port"'
port=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["port"])' < port.log)
[ "$port" -gt 0 ] || fail "port $port"
status "taken" 1 A port "$ADDR_A" "$port"
refuse "not to be had by a socket" on A timeout 5 python3 -c "import socket; socket.create_server(('$ADDR_A', $port))"
kill -INT "${pid_of[port]}"
finish port 10
expect "free again" on A timeout 5 python3 -c "import socket; socket.create_server(('$ADDR_A', $port))"

# none_left PARAMETER WORD...: with no room for what it bounds the command is refused, and says why
none_left() {
	local parameter=/sys/module/krdma/parameters/$1 before
	before=$(cat "$parameter")
	echo 0 > "$parameter"
	status "no room for $1" 1 A "${@:2}"
	grep -q "No space left" err || { cat err; fail "another reason"; }
	echo "$before" > "$parameter"
}

say "limits of the network's objects"
none_left file_ports port "$ADDR_A" 0
none_left neigh_watches neigh 10.77.0.98 dev vethA -r
none_left net_subscriptions monitor -t 1

say "monitor"
start monitor A krdma monitor --json
sleep 1
on A ip link set vethA mtu 1400
until_says monitor '"what":"link".*"name":"vethA".*"mtu":1400'
on A rdma link delete krdma0
until_says monitor '"what":"rnic","gone":true.*"name":"krdma0"'
rnic_add A
until_says monitor '"what":"rnic","gone":false.*"name":"krdma0"'
on A ip address add 10.78.0.1/24 dev vethA
until_says monitor '"what":"address".*"address":"10.78.0.1","prefix_len":24'
kill -INT "${pid_of[monitor]}"
finish monitor 10
python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' < monitor.log || fail "a line is no JSON"
start some A krdma monitor link -c 1
sleep 1
on A ip address add 10.79.0.1/24 dev vethA
on A ip link set vethA mtu 1500
finish some 10
same "one line, of the kind that was asked for" 1 "$(grep -c 'net what link' some.log)"
until_says watch '^krdma0 went'
until_says watch '^krdma0 came'
kill_hard watch
wait_for 10 rnic_active krdma0
check_no_leak
