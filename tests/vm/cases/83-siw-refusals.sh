#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: siw as peer, both roles: each side gets what the other refuses; RFC 7306, bad STags and bounds
# covers: tests/interop kvp_soft/rx kvp_soft/wire kal/cm/startup
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

counter() { on B rdma statistic show link krdma1/1 | grep -oE "\b$1 [0-9]+" | cut -d' ' -f2; }

# refusals REQUEST...: each on a connection of its own
refusals() {
	local address
	address=$(addr_of "$server_host")
	serve refused "$server_host" 7400 "$VM_PROGS/krdma_refused" -s $# -p 7400 "$address"
	run_on "$client_host" 120 "$VM_PROGS/krdma_refused" "${refused_options[@]}" -p 7400 "$address" "$@"
	cat client.log
	finish refused 30
}

siw_hosts_up
note_resources
refused_options=()
protection="read-stag read-bounds write-stag write-bounds"
say "siw refuses"
# shellcheck disable=SC2086
siw_server refusals fetch-add cmp-swap send-imm $protection
same "Terminates received" 7 "$(counter terminates_received)"
has "RFC 7306" "fetch-add +remote operation error" client.log
has "protection" "read-stag +remote access error" client.log
has "protection" "read-bounds +remote access error" client.log
say "krdma refuses; siw does not flush what is posted after the end"
refused_options=(-n)
# shellcheck disable=SC2086
siw_client refusals $protection
same "Terminates sent" 4 "$(counter terminates_sent)"
both_roles pattern_pair 4096
check_no_leak
