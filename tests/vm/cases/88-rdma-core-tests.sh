#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rdma-core's own tests: devices, domains, regions, windows, queues, both post interfaces, atomics, RDMA CM
# covers: kal/ib uapi/uvp_soft kvp_soft/queues kvp_soft/memory
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
cp -r /usr/share/doc/rdma-core/tests tests
gunzip -f tests/*.gz
# some want huge pages
echo 16 > /proc/sys/vm/nr_hugepages
case $(dpkg-query -W -f '${Version}' python3-pyverbs) in
44.*) there=62 ;;
*) there=63 ;;
esac
suite() {
	run_on A 400 python3 "${VM_LIB%/*}/rdma_core_tests.py" "$PWD" "$(dev_of A)" "$ADDR_A" test_device \
		test_pd test_mr test_cq test_cqex test_cq_events test_qp test_qpex test_atomic \
		test_parent_domain test_relaxed_ordering test_fork test_rdmacm test_shared_pd
	# as many as there are, so that none is skipped unseen
	same "passed" $there "$(sed -n 's/^passed \([0-9]*\) .*/\1/p' client.log)"
}
both_ways suite
echo 0 > /proc/sys/vm/nr_hugepages
