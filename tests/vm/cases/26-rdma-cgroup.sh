#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: objects of /dev/krdma are charged to the rdma cgroup like those of ib_uverbs, and given back once
# covers: kal/core/cgroup kal/core/resource kal/chardev kvp_hw/rnic
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

group=/sys/fs/cgroup/krdma
# a kernel may be built without
grep -q '^rdma' /proc/cgroups 2> /dev/null || exit 0
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +rdma > /sys/fs/cgroup/cgroup.subtree_control
mkdir $group
hosts_up
export LD_LIBRARY_PATH=$VM_REPO/build/ual KRDMA_UVP_DIR=$VM_REPO/build/uvp_soft

# reads "make KIND" and "drop KIND" and says what came of it
cat > holder.py << 'PY'
import ctypes, mmap, re, sys
ual = ctypes.CDLL("libkrdma.so.1")
class Cq(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("depth", ctypes.c_uint32), ("event_handler", ctypes.c_uint32)]
session, index, memory = ctypes.c_void_p(), ctypes.c_uint32(), mmap.mmap(-1, 65536)
at = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
assert ual.ual_open(ctypes.byref(session)) == 0
have = {kind: [] for kind in ("context", "pd", "cq", "srq", "qp", "mr", "mw")}
def first(kind):
    return have[kind][0]
def context(flags, to):
    assert ual.ual_find(session, sys.argv[1].encode(), ctypes.byref(index)) == 0
    return ual.ual_context_create(session, index, flags, to)
huge = Cq(ctypes.sizeof(Cq), 1 << 30, 0)
makers = {
    "context": lambda to: context(0, to),
    "slow": lambda to: context(1, to),
    "pd": lambda to: ual.ual_pd_create(first("context"), to),
    "cq": lambda to: ual.ual_cq_create(first("context"), None, to),
    "badcq": lambda to: ual.ual_cq_create(first("context"), ctypes.byref(huge), to),
    "srq": lambda to: ual.ual_srq_create(first("pd"), None, to),
    "qp": lambda to: ual.ual_qp_create(first("pd"), first("cq"), first("cq"), None, to),
    "mr": lambda to: ual.ual_mr_create(first("pd"), at, ctypes.c_size_t(65536), 1, to),
    "badmr": lambda to: ual.ual_mr_create(first("pd"), None, ctypes.c_size_t(65536), 1, to),
    "mw": lambda to: ual.ual_mw_create(first("pd"), 2, to),
}
for number, line in enumerate(sys.stdin):
    what, kind = line.split()
    status = 0
    if what == "make":
        it = ctypes.c_void_p()
        status = makers[kind](ctypes.byref(it))
        if status == 0:
            have["context" if kind == "slow" else kind].append(it)
    else:
        getattr(ual, "ual_" + kind + "_destroy")(have[kind].pop())
    # the library says which limit it was
    said = ctypes.create_string_buffer(256)
    if status == -11:
        ual.ual_last_error_text(said, ctypes.c_size_t(256))
        status = re.search("hca_[a-z]+", said.value.decode()).group()
    print(number, what, kind, status, flush=True)
PY

# holder NAME: one that waits for what to do, in the group
holder() {
	mkfifo "$1.in" "$1.out"
	start "$1" A bash -c "exec python3 holder.py $rnic < $1.in > $1.out"
	exec 9> "$1.in" 7<> "$1.out"
	echo "${pid_of[$1]}" > $group/cgroup.procs
	name=$1 said=0
}
# tell WANTED WHAT KIND: the status of that
tell() {
	local answer
	echo "$2 $3" >&9
	read -r -t "$(patient 20)" -u 7 answer || { cat "$name.log"; fail "no answer to $2 $3"; }
	same "$2 $3" "$said $2 $3 $1" "$answer"
	said=$((said + 1))
}
make_all() { for kind in "$1" pd cq srq qp mr mw; do tell 0 make "$kind"; done; }
# held DEVICE: contexts and objects that the group has of it
held() { sed -n "s/^$1 hca_handle=\([0-9]*\) hca_object=\([0-9]*\).*/\1 \2/p" $group/rdma.current; }
holds() { same "held $3" "$1 $2" "$(held "$rnic")"; }
held_is() { [ "$(held "$rnic")" = "$1" ]; }

rnic=krdma0
echo "krdma0 hca_handle=1 hca_object=6" > $group/rdma.max
for kind in context slow; do
	say "limits of a $kind"
	holder "limits$kind"
	holds 0 0 before
	tell 0 make $kind
	holds 1 0 "with a $kind"
	tell hca_handle make context
	tell hca_handle make slow
	for object in pd cq srq qp mr mw; do tell 0 make $object; done
	holds 1 6 "with one of each"
	for object in pd cq srq qp mr mw; do tell hca_object make $object; done
	tell 0 drop mw
	holds 1 5 "without the window"
	tell -14 make badmr
	tell -22 make badcq
	holds 1 5 "after failures"
	tell 0 make pd
	tell 0 drop pd
	tell 0 make mr
	holds 1 6 "with a region in its place"
	for object in mr qp srq cq mr pd; do tell 0 drop $object; done
	holds 1 0 "without objects"
	tell 0 drop context
	holds 0 0 "after all were destroyed"
	make_all $kind
	holds 1 6 "before the kill"
	kill_hard "$name"
	exec 9>&-
	wait_for 20 held_is "0 0" || fail "$(held krdma0) held by nobody"
done

say "one limit for both ways in"
mkfifo uverbs.in
start uverbs A bash -c 'exec python3 - < '"uverbs.in"
exec 8> uverbs.in
echo "${pid_of[uverbs]}" > $group/cgroup.procs
cat >&8 << 'PY'
import time
from pyverbs.device import Context
context = Context(name="krdma0")
time.sleep(3600)
PY
exec 8>&-
wait_for 20 held_is "1 0" || { cat uverbs.log; fail "ib_uverbs is not charged"; }
holder both
tell hca_handle make context
kill_hard uverbs
wait_for 20 held_is "0 0" || fail "ib_uverbs keeps a charge"
tell 0 make context
exec 9>&-
finish both 20
wait_for 20 held_is "0 0" || fail "the end of the program keeps a charge"

echo "krdma0 hca_handle=max hca_object=max" > $group/rdma.max
# gone HOW...: that command removes the RNIC while a program has all kinds of it
gone() {
	say "gone by $*"
	holder "gone$((++times))"
	make_all context
	make_all slow
	holds 2 12 "of both contexts"
	"$@"
	wait_for 20 held_is "" || fail "$(held krdma0) of an RNIC that is gone"
	tell -19 make pd
	back
	wait_for 10 rnic_active krdma0 || fail "it does not come back"
	holds 0 0 "of the new one"
	tell 0 drop qp
	tell 0 drop mw
	holds 0 0 "of the new one still"
	tell 0 make slow
	holds 1 0 "of the new one"
	exec 9>&-
	finish "$name" 20
	wait_for 20 held_is "0 0" || fail "$(held krdma0) held by nobody"
}
times=0
back() { rnic_add A; }
gone on A rdma link delete krdma0
back() {
	on B ip link add vethA netns hostA type veth peer name vethB
	for host in A B; do
		on $host ip address add "$(addr_of $host)/24" dev veth$host
		on $host ip link set veth$host up
	done
	rnic_add A
}
gone on A ip link delete vethA
back() { insmod "$VM_MODULES/krdma_soft.ko" && rnic_add A; }
gone rmmod krdma_soft

say "races"
# programs that make and drop, in the group, until they are killed or there is no RNIC
cat > churn.py << 'PY'
import subprocess, sys, random
random.seed(int(sys.argv[1]))
holder = subprocess.Popen([sys.executable, "holder.py", "krdma0"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
order = ["pd", "cq", "srq", "qp", "mr", "mw"]
try:
    while True:
        kind = random.choice(["context", "slow"])
        for line in ["make " + kind] + ["make " + k for k in order] + ["drop " + k for k in reversed(order)] + ["drop context"]:
            holder.stdin.write(line + "\n")
        holder.stdin.flush()
except OSError:
    pass
PY
# two of each of three
all_there() { [ "$(wc -l < $group/cgroup.procs)" = 6 ] && ! held_is "0 0"; }
# whoever is left in the group, and nobody is
killed() {
	while read -r pid; do kill -9 "$pid" 2> /dev/null || true; done < $group/cgroup.procs
	[ -z "$(cat $group/cgroup.procs)" ]
}
# in round 1 the RNIC stays
for round in $(few 2 1 3); do
	rm -f go
	for n in 1 2 3; do
		start "churn$round$n" A bash -c "until [ -e go ]; do sleep 0.1; done; exec python3 churn.py $round$n"
		echo "${pid_of[churn$round$n]}" > $group/cgroup.procs
	done
	touch go
	wait_for 60 all_there || fail "they do not begin"
	sleep 1
	[ "$round" = 1 ] || on A rdma link delete krdma0
	wait_for 20 killed || fail "processes stay"
	for n in 1 2 3; do wait "${pid_of[churn$round$n]}" || true; done
	[ "$round" = 1 ] || rnic_add A
	wait_for 20 held_is "0 0" || fail "$(held krdma0) held by nobody"
done

say "an adopted device: ib_core knows it already"
rnic=rxe0
modprobe rdma_rxe
ip link add dummyR type dummy
ip link set dummyR up
rdma link add $rnic type rxe netdev dummyR
hw_load
adopted_here() { on A "$VM_REPO/build/tools/krdma" list | grep -qw $rnic; }
wait_for 10 adopted_here || fail "$rnic is not adopted"
echo "$rnic hca_handle=1 hca_object=4" > $group/rdma.max
holder adopted
tell 0 make context
tell hca_handle make context
for object in pd cq srq qp; do tell 0 make $object; done
holds 1 4 "of an adopted device"
for object in pd cq srq qp mr; do tell hca_object make $object; done
tell 0 drop qp
tell 0 make mr
holds 1 4 "with a region in its place"
expect "the adoption ends" "$VM_REPO/build/tools/krdma" adopt -r $rnic
wait_for 20 held_is "0 0" || fail "$(held $rnic) after the end of the adoption"
tell -19 make pd
expect "it begins again" "$VM_REPO/build/tools/krdma" adopt $rnic
tell 0 drop mr
exec 9>&-
finish adopted 20
holder adoptedkill
tell 0 make context
for object in pd cq srq qp; do tell 0 make $object; done
kill_hard adoptedkill
exec 9>&-
wait_for 20 held_is "0 0" || fail "$(held $rnic) held by nobody"
rmmod krdma_hw
rdma link delete $rnic
rmmod rdma_rxe
ip link delete dummyR
! dmesg | grep "Invalid device" || fail "something was given back twice, or after its device"

rmdir $group
# each charge holds the group's part of that controller (memory's part of any group, of the case
# before too, may stay for as long as a file's page that it read)
no_dying() { grep -q '^nr_dying_subsys_rdma 0$' /sys/fs/cgroup/cgroup.stat; }
wait_for 30 no_dying || { cat /sys/fs/cgroup/cgroup.stat; fail "a charge holds the cgroup"; }
# as docs/operate.md says: without "max" first, the kernel would use the removed group's memory
# when the RNIC is removed (docs/kernel-bugs.md)
mkdir $group
echo "krdma0 hca_handle=1 hca_object=6" > $group/rdma.max
echo "krdma0 hca_handle=max hca_object=max" > $group/rdma.max
rmdir $group
wait_for 30 no_dying || fail "the cgroup stays"
on A rdma link delete krdma0
umount /sys/fs/cgroup
