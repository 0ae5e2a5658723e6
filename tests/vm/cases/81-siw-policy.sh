#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: siw as peer, both roles: CRC, MPA revision, RTR and markers of either side; compared data
# covers: tests/interop kal/cm/startup kal/cm/mpa kal/cm/crc_policy
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

tracing=/sys/kernel/tracing
echo 1 > $tracing/events/krdma/mpa_frame/enable

# start-up frames that match: how many of them krdma has sent and received
frames() { grep -cE "mpa_frame: .* $1" $tracing/trace || true; }

# agreed ROLES REGEX POLICY...: so the connection is made, and data are exact
agreed() {
	local roles=$1 regex=$2
	shift 2
	policy_default
	policy "$@"
	echo > $tracing/trace
	"$roles" pattern_pair 4096
	grep -oE '(tx|rx) (request|reply) .*' $tracing/trace
	same "replies '$regex'" "$([ "$roles" = both_roles ] && echo 2 || echo 1)" \
		"$(frames "reply $regex")"
}

# refused POLICY...: no connection, no crash
refused() {
	policy_default
	policy "$@"
	both_roles refused_pair
}

siw_hosts_up
note_resources
for crc in 1 0; do
	for revision in 1 2; do
		agreed both_roles "rev=$revision M=0 C=$crc" krdma.mpa_crc=$crc \
			krdma.mpa_revision=$revision siw.mpa_version=$revision
	done
done
say "siw alone asks for a CRC; as a server it does not insist"
agreed siw_client "rev=2 M=0 C=1" krdma.mpa_crc=0 siw.mpa_crc_required=1
agreed siw_server "rev=2 M=0 C=0" krdma.mpa_crc=0 siw.mpa_crc_required=1
say "revisions that differ"
agreed siw_server "rev=1" krdma.mpa_revision=1
agreed siw_client "rev=1" siw.mpa_version=1
say "ready-to-receive frames: none, RDMA Read, and siw's"
agreed siw_server "rev=2 .* A=0 rtr=0x0 " krdma.mpa_rtr=0
agreed siw_server "rev=2 .* A=1 rtr=0x8 " krdma.mpa_rtr=8
agreed siw_client "rev=2 .* A=1 rtr=0xc " siw.peer_to_peer=1

say "one will not have a CRC, the other insists"
refused siw.mpa_crc_strict=1
say "siw has no markers"
refused krdma.mpa_markers=1
policy_default
both_roles ping_pair 1000 3
check_no_leak
