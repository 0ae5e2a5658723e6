#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: krdma offload: rules by path of a cgroup that comes and goes, list of sockets, reset, limits, rules that stay
# covers: ops/rules.c ops/limits.c ops/netlink.c ops/netlink_rule.c ops/view.c uapi/tools/offload.cpp uapi/tools/offload_rule.cpp uapi/tools/persistence.cpp
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

krdma=$VM_REPO/build/tools/krdma
export LD_LIBRARY_PATH=$VM_REPO/build/ual
groups=$PWD/cgroup
rules=/etc/krdma/offload.rules
offload() { on A "$krdma" offload "$@"; }
refused() {
	refuse "$*" offload "${@:2}"
	has "$*" "$1" "$VM_TMP/expect"
}
counter() { offload stats --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
limit() { offload limits | awk -v name="$1" -v column="$2" '$1 == name { print $column }'; }

# one connection on this host; with a fifo, it waits there and exchanges once more
cat > once.py <<'END'
import os, socket, sys
port, uid, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
os.setuid(uid)
server = socket.socket(family, socket.SOCK_STREAM)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((address, port))
server.listen(4)
client = socket.socket(family, socket.SOCK_STREAM)
client.connect((address, port))
peer, _ = server.accept()
def exchange():
    client.sendall(b"hello")
    assert peer.recv(5) == b"hello"
    peer.sendall(b"world!")
    assert client.recv(6) == b"world!"
exchange()
if len(sys.argv) > 4:
    open("ready", "w").write("1")
    open(sys.argv[4]).read()
    try:
        exchange()
        print("exchanged")
    except ConnectionResetError:
        print("reset")
END
once() { on A timeout "$(patient 20)" python3 once.py "${1:-7000}" "${2:-0}" "${3:-127.0.0.1}" "${@:4}"; }
# how many of the two ends found each other
paired() {
	local before
	before=$(counter paired)
	once "$@" || fail "a connection: $*"
	echo $(($(counter paired) - before))
}
# in a cgroup
paired_in() {
	mkdir -p "$groups/$1"
	(
		echo $BASHPID > "$groups/$1/cgroup.procs"
		paired "${@:2}"
	)
}
begin() {
	rm -f ready gate
	mkfifo gate
	: > ready
	chmod 666 ready gate
	once 7000 65534 127.0.0.1 gate > log &
	until [ -s ready ]; do sleep 0.1; done
}
finish() {
	echo > gate
	wait %%
	same "$1" "$2" "$(cat log)"
}

ip netns add hostA
on A ip link set lo up
expect "the module loads" insmod "$VM_MODULES/krdma_ops.ko" max_rules=300
same "no rule, no mark" 0 "$(paired)"
same "the road" local "$(offload roads | awk 'NR == 2 { print $1 }')"

say "one rule for each direction"
offload add port 7000 > ids
same "two numbers" 2 "$(wc -l < ids)"
same "both ends" 2 "$(paired)"
same "IPv6" 2 "$(paired 7000 0 ::1)"
same "IPv4 in IPv6" 2 "$(paired 7000 0 ::ffff:127.0.0.1)"
same "another port" 0 "$(paired 7001)"

say "sockets, and back to TCP"
begin
offload sockets --json > sockets.json
python3 - <<'END'
import json
sockets = json.load(open("sockets.json"))["sockets"]
assert len(sockets) == 3, sockets
listener, = [each for each in sockets if each["tcp_state"] == "listen"]
client, = [each for each in sockets if each["peer_port"] == 7000]
server, = [each for each in sockets if each["port"] == 7000 and each != listener]
assert listener["state"] == "marked" and "road" not in listener, listener
assert client["road"] == server["road"] == "local" and client["uid"] == 65534, sockets
assert client["sent"] + client["tcp_sent"] >= 5 and client["rule"] != server["rule"], sockets
assert client["inode"] and client["port"] == server["peer_port"], sockets
END
same "a user's own" 4 "$(on A setpriv --reuid=65534 --clear-groups "$krdma" offload sockets | wc -l)"
same "of others" 1 "$(on A setpriv --reuid=65533 --clear-groups "$krdma" offload sockets | wc -l)"
refuse "no right" on A setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" offload reset
same "none matches" 0 "$(offload reset port 7001)"
refused 'wanted' reset use tcp
same "the client's end" 1 "$(offload reset connect port 7000 --user nobody)"
finish "it goes on" exchanged
begin
offload reset --end connect port 7000
finish "it has ended" reset
[ "$(counter paired)" -ge 10 ] || fail "counter: $(counter paired)"
offload flush
same "no rules any more" 1 "$(offload list | wc -l)"

say "a cgroup by its path, before it is there and after it has gone"
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
offload add --cgroup web/inner 2> err
has "it says so" 'no cgroup /web/inner now' err
offload add --cgroup "$groups/web/inner/out" use tcp 2> err
has "the path below the mount" '/web/inner/out ' <(offload list)
same "elsewhere" 0 "$(paired_in other)"
same "above" 0 "$(paired_in web)"
same "in it" 2 "$(paired_in web/inner)"
same "below" 2 "$(paired_in web/inner/deep)"
same "left out" 0 "$(paired_in web/inner/out)"
rmdir "$groups"/web/inner/{deep,out} "$groups/web/inner"
same "a new one of this path" 2 "$(paired_in web/inner)"
offload flush
rmdir "$groups/web/inner" "$groups/other"
offload add --cgroup "$(stat -c %i "$groups/web")"
same "by number" 2 "$(paired_in web)"
rmdir "$groups/web"
has "it is gone" '\(gone\)' <(offload list)
same "another one" 0 "$(paired_in web)"
offload flush
rmdir "$groups/web"
umount "$groups"
refused 'given twice' add cgroup a --service b
refused 'no path' add --cgroup a/../b
refused 'wanted before an address' add 10.0.0.0/8

say "limits"
same "of the host" 300 "$(limit rules 4)"
refused 'more than the host' limits rules 301
refused 'no such limit' limits nonesuch 1
expect "fewer" offload limits rules 1
offload add listen port 7000
refused 'as many rules' add connect port 7000
same "used" 1 "$(limit rules 3)"
expect "as before" offload limits rules default
offload add connect port 7000
expect "no connection" offload limits connections 0
same "it goes by TCP" 0 "$(($(paired) / 4))"
[ "$(counter limit)" -ge 1 ] || fail "counter: $(counter limit)"
offload limits connections default
offload flush

say "rules that stay"
mkdir bin enabled
cat > bin/systemctl <<END
#!/bin/sh
echo "\$*" >> "$PWD/systemctl.log"
for unit; do :; done
case \$1 in
is-enabled) [ -e "$PWD/enabled/\$unit" ] ;;
enable) : > "$PWD/enabled/\$unit" ;;
disable) rm -f "$PWD/enabled/\$unit" ;;
start) [ ! -e "$PWD/broken" ] && "$krdma" offload load ;;
stop) "$krdma" offload unload || true ;; # a stop succeeds
show) printf 'Id=%s\nLoadState=%s\nSlice=system.slice\nControlGroup=\n' "\$unit" "\$([ -e "$PWD/unknown" ] && echo not-found || echo loaded)" ;;
esac
END
chmod +x bin/systemctl
mkdir -p /run/systemd/system
before=$PATH
PATH=$PWD/bin:$PATH
touch broken
refuse "a unit that does not start" "$krdma" offload add connect port 80 --persist
[ ! -e /etc/krdma ] || fail "it leaves rules behind"
same "the rule has gone, too" 1 "$("$krdma" offload list | wc -l)"
rm broken
"$krdma" offload add --service web --persist
"$krdma" offload add connect port 80 --persist use tcp
same "the file" "connect service web.service use any
listen service web.service use any
connect port 80 use tcp" "$(sed 1d $rules)"
[ -e enabled/krdma-offload.service ] || fail "it is not enabled"
same "the path" 2 "$("$krdma" offload list | grep -c ' /system.slice/web.service ')"
expect "the same once more" "$krdma" offload add connect port 80 --persist use tcp
same "as it was" 4 "$(wc -l < $rules)"
expect "all go" "$krdma" offload flush
expect "and come at boot" "$krdma" offload load
expect "they are there already" "$krdma" offload load
same "three" 4 "$("$krdma" offload list | wc -l)"
expect "one less" "$krdma" offload del --persist "$("$krdma" offload list | awk '$2 == "connect" && /web/ { print $1 }')"
same "the rest" "listen service web.service use any
connect port 80 use tcp" "$(sed 1d $rules)"
echo 'nonsense # a typo' >> $rules
touch unknown
expect "flush" "$krdma" offload flush
refuse "a line that is no rule" "$krdma" offload load
has "where" 'offload.rules:4: ' expect
has "a unit that is gone" 'web.service' expect
same "the others are added" 1 "$("$krdma" offload list | grep -c ' 80 ')"
expect "no more" "$krdma" offload flush --persist
[ ! -e /etc/krdma ] || fail "settings stay"
[ ! -e enabled/krdma-offload.service ] || fail "it is enabled"
same "no rule" 1 "$("$krdma" offload list | wc -l)"
PATH=$before
rm -r /run/systemd/system
expect "the module goes" rmmod krdma_ops
