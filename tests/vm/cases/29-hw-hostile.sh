#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: adopted devices: random commands of /dev/krdma from many threads, also while the adoption ends; a device that hangs, and its release
# covers: kvp_hw kal/chardev kal/cm/offload.c
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

hw_up

[ -e /dev/udmabuf ] || modprobe udmabuf
exec 9> /sys/kernel/tracing/trace_marker
# what an adopted device lacks (user library, windows, dma-buf) never succeeds: --any
fuzz=("$VM_PROGS/krdma_chardev_fuzz" --seed "${SEED:-$RANDOM}" --marker 9 --any)
for address in "$ADDR_A" $ADDR_R; do
	say "random commands to the RNIC of $address"
	run_on A 120 "${fuzz[@]}" --seconds "$(either 8 30)" "$address"
	cat client.log
done
say "the adoption ends meanwhile"
start fuzz A "${fuzz[@]}" --seconds 6 "$ADDR_A"
sleep 2
expect "release" on A timeout "$(patient 60)" "$krdma" adopt -r siw0
finish_any fuzz 60
expect "adopt" on A "$krdma" adopt siw0
adopted siw0

export PYTHONPATH=$VM_REPO/tests/vm/guest PYTHONDONTWRITEBYTECODE=1

say "siw: a queue pair that a connection was begun with is of no use for another one"
cat > again.py << 'PY'
# again.py RNIC ADDRESS: connect a queue pair to a host that does not answer, twice; print what the second call returns
import ctypes, sys, time
from ual import context_of, made, ual
context = context_of(sys.argv[1])
domain = made(ual.ual_pd_create, context)
address = ctypes.create_string_buffer(64)
assert ual.ual_addr_parse(sys.argv[2].encode(), address) == 0
queue = made(ual.ual_cq_create, context, None)
pair = made(ual.ual_qp_create, domain, queue, queue, None)
connection = made(ual.ual_connect, pair, address, None)
time.sleep(2)
ual.ual_connection_destroy(connection)
connection = ctypes.c_void_p()
print(ual.ual_connect(pair, address, None, ctypes.byref(connection)))
time.sleep(1)
PY
start silent B python3 -c 'import socket, time; s = socket.create_server(("", 7999)); print("ready", flush=True); time.sleep(600)'
wait_for 10 grep -q ready silent.log
run_on A 60 python3 again.py siw0 "$ADDR_B:7999"
same "second use (-EINVAL)" -22 "$(tail -1 client.log)"
kill_hard silent

cat > many.py << 'PY'
# many.py RNIC NUMBER: a protection domain and so many queue pairs, until the input ends
import sys
from ual import context_of, made, ual
context = context_of(sys.argv[1])
domain = made(ual.ual_pd_create, context)
for i in range(int(sys.argv[2])):
    queue = made(ual.ual_cq_create, context, None)
    made(ual.ual_qp_create, domain, queue, queue, None)
print("ready", flush=True)
sys.stdin.readline()
PY
# many NAME RNIC NUMBER
many() {
	mkfifo "$1.in"
	start "$1" A bash -c "exec python3 many.py $2 $3 < $1.in"
	exec 7> "$1.in"
	wait_for 30 grep -q ready "$1.log" || { cat "$1.log"; fail "no queue pairs"; }
}

say "ib_core's region of all kernel memory is not in a program's protection domain"
trace=/sys/kernel/tracing/instances/dma
mkdir $trace
if grep -qw function $trace/available_tracers; then
	calls() { awk -v name="$1" '$0 ~ name { n++ } END { print n + 0 }' $trace/trace; }
	echo siw_get_dma_mr siw_dereg_mr > $trace/set_ftrace_filter
	echo function > $trace/current_tracer
	many domain siw0 0
	same "regions of all memory" "1" "$(calls siw_get_dma_mr)"
	same "... that are gone" "1" "$(calls siw_dereg_mr)"
	exec 7>&-
	finish domain 20
	echo nop > $trace/current_tracer
fi
rmdir $trace

say "the device hangs: its release takes long, the kernel answers before, and the tool waits"
# no more than one time-out: the process has one queue pair
seconds=$(patient 10)
many one rxe0 1
insmod "$VM_MODULES/tests/consumers/hw_stall.ko" device=rxe0
echo $((seconds * 1000)) > /sys/module/krdma_hw/parameters/drain_timeout_ms
begin=$SECONDS
start release A "$krdma" adopt -r rxe0
sleep "$(patient 1)"
alive release || { cat release.log; fail "the device does not hang"; }
# the handler of the first choice held a lock of all families as long as the release took
expect "another device meanwhile" on A timeout "$(patient 30)" "$krdma" adopt siw0
alive release || { cat release.log; fail "the other choice waited for the release"; }
finish release $((seconds + 30))
took=$((SECONDS - begin))
[ $took -ge $((seconds - 1)) ] || fail "the release took $took s"
! adopted rxe0 || fail "rxe0 is still adopted"
rmmod hw_stall
echo 1000 > /sys/module/krdma_hw/parameters/drain_timeout_ms
exec 7>&-
finish_any one 20
expect "adopt" on A "$krdma" adopt rxe0
adopted rxe0 || fail "rxe0 is not adopted"

say "the device hangs: the queue pairs of a process share one time-out"
timeouts() { on A "$krdma" stat rxe0 | awk '$1 == "drain_timeout" { print $2 }'; }
before=$(timeouts)
many queues rxe0 60
insmod "$VM_MODULES/tests/consumers/hw_stall.ko" device=rxe0
begin=$SECONDS
exec 7>&-
finish queues 100
took=$((SECONDS - begin))
rmmod hw_stall
echo "60 queue pairs took $took s"
[ "$(timeouts)" -ge $((before + 60)) ] || fail "only $(timeouts) time-outs, and $before before"
[ $took -le "$(patient 12)" ] || fail "each queue pair had a time-out of its own"
hw_down
