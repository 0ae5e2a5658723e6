#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Run rdma-core's own tests, as Debian ships them, on one RNIC: FOLDER DEVICE ADDRESS TEST...

Each TEST is a name below "tests": a module, a class or a method. Three things that
they know of InfiniBand and RoCE only are replaced: where a device's address is
found, how two queue pairs become connected, which is the RDMA CM's work for an
RNIC, and the ACK timeout, which the kernel keeps from iWARP devices. The last line is
"passed P skipped S failed F".
"""
import faulthandler
import os
import sys
import unittest

# what they expect that no RNIC does
LATER = "an RNIC's Write or Send has completed before the peer refuses it"
LEFT_OUT = {
    "test_mr_rereg_access_bad_flow": LATER,
    "test_mr_rereg_addr": LATER,
    "test_mr_rereg_atomic": LATER,
    "test_mr_rereg_pd": LATER,
    "test_invalidate_mw_type1": LATER,
    "test_mw_type2_invalidate_local": LATER,
    "test_mw_type2_invalidate_remote": LATER,
    "test_mw_type2_invalidate_dealloc": LATER,
    "test_qp_ex_rc_bind_mw": LATER,
    "test_rdmacm_async_traffic_external_qp": "CONNECT_RESPONSE is InfiniBand's",
    "test_rdmacm_async_udp_traffic": "datagrams",
}
LIMIT = int(os.environ.get("VM_SLOW", "1")) * 60


class Result(unittest.TextTestResult):
    """One test that hangs is the end of the program, with its stack."""

    def startTest(self, test):
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        super().startTest(test)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)


def each(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from each(item)
        else:
            yield item


def left_out(test):
    name = test.id().rsplit(".", 1)[-1]
    if name not in LEFT_OUT:
        return False
    print(f"{name}: left out: {LEFT_OUT[name]}")
    return True


class Connector:
    """Connects the queue pairs of two players through the RDMA CM, with both in this process."""

    def __init__(self, address):
        self.address = address
        self.first = {}

    def to_rts(self, player):
        """In place of RCResources.to_rts(); the second of two players connects them."""
        client = self.first.pop(tuple(player.qps_num), None)
        if client is None:
            self.first[tuple(player.rqps_num)] = player
            return
        player.rdma_cm = [self.connect(*qps) for qps in zip(client.qps_num, player.qps_num)]

    def connect(self, client_qp, server_qp):
        cmid, cme = __import__("pyverbs.cmid").cmid, __import__("pyverbs.cm_enums").cm_enums
        channels = cmid.CMEventChannel(), cmid.CMEventChannel()
        server, client = (cmid.CMID(creator=c, port_space=cme.RDMA_PS_TCP) for c in channels)

        def expect(channel, kind):
            event = cmid.CMEvent(channel)
            if event.event_type != kind:
                raise RuntimeError(f"{event.event_str()} instead of event {kind}")
            return event

        param = {"resources": 1, "depth": 1}
        server.bind_addr(cmid.AddrInfo(src=self.address, src_service="7471",
                                       port_space=cme.RDMA_PS_TCP, flags=cme.RAI_PASSIVE))
        server.listen()
        client.resolve_addr(cmid.AddrInfo(src=self.address, dst=self.address, dst_service="7471",
                                          port_space=cme.RDMA_PS_TCP))
        expect(channels[1], cme.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
        client.resolve_route()
        expect(channels[1], cme.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
        client.connect(cmid.ConnParam(qp_num=client_qp, **param))
        request = expect(channels[0], cme.RDMA_CM_EVENT_CONNECT_REQUEST)
        child = cmid.CMID(creator=request, listen_id=server)
        request.ack_cm_event()
        child.accept(cmid.ConnParam(qp_num=server_qp, **param))
        for channel in channels:
            expect(channel, cme.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
        server.close()
        return client, child, channels


def without_ack_timeout(connection):
    """A connection as asked for, but for its queue pair's ACK timeout."""
    begin = connection.__init__

    def init(self, *args, **options):
        begin(self, *args, **{**options, "qp_timeout": -1})

    connection.__init__ = init


def main():
    folder, device, address, *names = sys.argv[1:]
    sys.argv[1:] = ["--dev", device, "--port", "1"]
    sys.path[:0] = [os.path.join(folder, "tests"), folder]
    args_parser = __import__("args_parser")
    args_parser.parser.parse_args()
    base = __import__("tests.base").base
    base.RDMATestCase._get_ip_mac = lambda self, dev, port, index: self.args.append(
        [dev, port, index, address, None])
    connector = Connector(address)
    base.RCResources.to_rts = lambda self: connector.to_rts(self)
    without_ack_timeout(__import__("tests.rdmacm_utils").rdmacm_utils.CMAsyncConnection)
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"tests.{name}" for name in names])
    suite = unittest.TestSuite(test for test in each(suite) if not left_out(test))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = result.testsRun - failed - len(result.skipped) - len(result.expectedFailures)
    print(f"passed {passed} skipped {len(result.skipped)} failed {failed}")
    return 1 if failed or not passed else 0


sys.exit(main())
