#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: NFS 4.2 over RDMA of the stock kernel: client and server over krdma, compared files, verified I/O
# covers: kal/ib kvp_soft/memory kvp_soft/queues
# limit: 900
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

nfsd=/proc/fs/nfsd
rpc=/proc/net/rpc
never=2147483647
# NFSEXP_INSECURE_PORT | NFSEXP_NOSUBTREECHECK | NFSEXP_FSID
flags=$((0x2 | 0x400 | 0x2000))

# There is no mountd: what it would answer the kernel is said before it asks.
server_up() {
	modprobe -a nfsd rpcrdma
	mountpoint -q $nfsd || mount -t nfsd nfsd $nfsd
	mkdir -p /export
	mount -t tmpfs -o size=160m none /export
	# where the server keeps the names of its clients, or it waits for clients of another life
	mkdir -p /var/lib/nfs/v4recovery
	echo 10 > $nfsd/nfsv4gracetime
	echo "-2 -3 +4 +4.1 +4.2" > $nfsd/versions
	echo "rdma 20049" > $nfsd/portlist
	echo 4 > $nfsd/threads
	# a kernel without a place for the names of its clients has those 10 seconds to wait
	echo Y > $nfsd/v4_end_grace || true
	echo "nfsd $portal $never krdma" > $rpc/auth.unix.ip/channel
	printf 'krdma 1 \\x00000000 %d /export\n' $never > $rpc/nfsd.fh/channel
	echo "krdma /export $never $flags 65534 65534 0" > $rpc/nfsd.export/channel
}

server_down() {
	echo 0 > $nfsd/threads
	date +%s > $rpc/nfsd.export/flush
	umount /export
	umount $nfsd
	modprobe -r nfsd
}

storage_up
before=$(held)
server_up
mkdir -p /mnt/krdma
# mount.nfs would add what it finds out
run_storage mount -i -t nfs4 -o "vers=4.2,proto=rdma,port=20049,sec=sys,addr=$portal,clientaddr=$portal" \
	$portal:/ /mnt/krdma
grep -q 'nfs4.*proto=rdma' /proc/mounts || fail "not by RDMA"
rdma resource show qp
head -c 20000003 /dev/urandom > file
cp file /mnt/krdma/file
mkdir /mnt/krdma/many
for n in {1..100}; do
	echo "$n" > "/mnt/krdma/many/$n"
done
verified_io
echo 3 > /proc/sys/vm/drop_caches
cmp file /mnt/krdma/file
same "files" 100 "$(find /mnt/krdma/many -type f | wc -l)"
same "their sum" 5050 "$(cat /mnt/krdma/many/* | awk '{ sum += $1 } END { print sum }')"
cmp file /export/file
rm -r /mnt/krdma/*
umount /mnt/krdma
registered
over_wire
server_down
modprobe -r nfsv4 nfs rpcrdma
nothing_left "$before"
