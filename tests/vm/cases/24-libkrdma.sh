#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: libkrdma's verbs between two hosts, with the user library and by commands; an RNIC is removed while threads wait; the C examples and the example with windows
# covers: uapi/ual uapi/uvp_soft uapi/examples kal/chardev
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

export LD_LIBRARY_PATH=$VM_REPO/build/ual
examples=$VM_REPO/build/examples
uvp=$VM_REPO/build/uvp_soft

# listens NAME: an example says so
listens() { grep -q '^listening' "$1.log"; }

# serve_example NAME COMMAND...: on B, and wait until it listens
serve_example() {
	local name=$1
	shift
	start "$name" B "$@"
	wait_for 10 listens "$name" || { cat "$name.log"; fail "$name does not listen"; }
}

# store_and_fetch PROGRAM SERVER CLIENTS EACH: clients at the same time, each with its own keys
store_and_fetch() {
	local client pids=() number
	for ((client = 0; client < $3; client++)); do
		(
			for ((number = 0; number < $4; number++)); do
				"$1" "$2" put "key$client-$number" "value$client-$number" || exit
				"$1" "$2" get "key$client-$number" || exit
			done
		) > "fetched.$client" &
		pids+=($!)
	done
	wait "${pids[@]}"
	cat fetched.* | sort -u | grep -c '^value' | sed 's/$/ values came back/'
}
export -f store_and_fetch
long=$(head -c 6000 /dev/zero | tr '\0' x)

hosts_up
note_resources

# where events of completion event handlers other than 0 are raised: handler n is CPU n
tracing=/sys/kernel/tracing
mkdir "$tracing/instances/ceh"
echo 'ceh > 0' > "$tracing/instances/ceh/events/krdma/completion_event/filter"
echo 1 > "$tracing/instances/ceh/events/krdma/completion_event/enable"
# raised: pairs of a CPU and a handler, each once
raised() { sed -nE 's/.*\[0*([0-9]+)\].* ceh=([0-9]+)$/\1 \2/p' "$tracing/instances/ceh/trace" | sort -u; }

tests=0
for path in fast slow; do
	# the RNIC names its user library in any case; here it is not found
	export KRDMA_UVP_DIR=$uvp
	[ $path = fast ] || export KRDMA_UVP_DIR=/nowhere
	say "verbs, $path"
	expect "verbs, $path" timeout "$(patient 60)" "$VM_PROGS/krdma_ual" $path hostA "$ADDR_A" hostB "$ADDR_B"
	cat expect
	tests=$((tests + $(awk '/ passed, / { print $1 }' expect)))
	same "each handler's CPU, $path" "$(seq "$(($(nproc) - 1))" | sed 's/.*/& &/')" "$(raised)"
	echo > "$tracing/instances/ceh/trace"
	check_no_leak

	say "examples in C, $path"
	serve_example ping "$examples/ping_pong" -l "$ADDR_B:7810"
	run_on A 10 "$examples/ping_pong" "$ADDR_B:7810" 50
	cat client.log
	has "the client's word" '^50 messages, [0-9.]+ us each$' client.log
	finish ping 10
	has "the server's word" '^50 messages of 10.77.0.1:[0-9]+ sent back$' ping.log
	serve_example write "$examples/write_read" -l "[$ADDR6_B]:7811"
	run_on A 10 "$examples/write_read" "[$ADDR6_B]:7811" "written by the peer"
	has "the client's word" "^'written by the peer' written and read back$" client.log
	finish write 10
	has "the server's word" "^the client wrote 'written by the peer'$" write.log
	say "a window, shared receives and their event, $path"
	serve_example lend "$examples/lend_window" -l "[$ADDR6_B]:7812"
	run_on A 10 "$examples/lend_window" "[$ADDR6_B]:7812" "through a window"
	has "the client's word" "^'through a window' written through a window of 200 bytes$" client.log
	finish lend 10
	has "what was written" "^the client wrote 'through a window'$" lend.log
	has "the event" '^receives ran low, and were posted again$' lend.log
	check_no_leak

	say "a key-value store: one server, one shared receive queue, $path"
	serve_example store "$examples/key_value" -l "$ADDR_B:7813"
	run_on A 10 "$examples/key_value" "$ADDR_B:7813" put colour blue
	run_on A 10 "$examples/key_value" "$ADDR_B:7813" get colour
	same "what was put" blue "$(cat client.log)"
	run_on A 10 "$examples/key_value" "$ADDR_B:7813" put colour "$long"
	run_on A 10 "$examples/key_value" "$ADDR_B:7813" get colour
	same "a long value in its place" "$long" "$(cat client.log)"
	# more requests than the shared queue has receives, so each of them is posted again
	run_on A 60 bash -c 'store_and_fetch "$@"' bash "$examples/key_value" "$ADDR_B:7813" 4 12
	has "every client has its own" '^48 values came back$' client.log
	run_on A 10 "$examples/key_value" "$ADDR_B:7813" delete colour
	refuse "a value that was deleted" on A "$examples/key_value" "$ADDR_B:7813" get colour
	has "what it says" "^no key 'colour'$" expect
	refuse "deleted twice" on A "$examples/key_value" "$ADDR_B:7813" delete colour
	kill_hard store
	check_no_leak
done

echo 0 > "$tracing/instances/ceh/events/enable"
rmdir "$tracing/instances/ceh"
for path in fast slow; do
	export KRDMA_UVP_DIR=$uvp
	[ $path = fast ] || export KRDMA_UVP_DIR=/nowhere
	say "the RNIC goes under waits, $path"
	start waiter A "$VM_PROGS/krdma_ual" removal hostA "$ADDR_A"
	wait_for 20 grep -q '^waiting' waiter.log || { cat waiter.log; fail "nobody waits"; }
	sleep 0.5
	expect "link del" on A timeout "$(patient 30)" rdma link delete krdma0
	finish waiter 30
	cat waiter.log
	has "the program's word" '^all were told$' waiter.log
	rnic_add A
	wait_for 10 rnic_active krdma0
done

say "RNICs, and errors, in C"
run_on A 10 "$examples/list_rnics"
has "the RNIC" '^krdma0 on vethA: up, [0-9]+ queue pairs, mtu 1500$' client.log
run_on A 10 "$examples/list_rnics" "$ADDR_B"
has "that which leads there" '^krdma0 on vethA' client.log
refuse "no way there" on A "$examples/list_rnics" 192.0.2.1
refuse "no address" on A "$examples/list_rnics" 10.77
refuse "nobody listens" on A "$examples/ping_pong" "$ADDR_B:7999"
has "why" '^connect: Connection refused$' expect
counted $((tests + 24)) 0
