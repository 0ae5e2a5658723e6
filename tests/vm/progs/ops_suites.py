#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Python's own tests of sockets, one line for each: its outcome and its name.

ops_suites.py MODULE...     below "test"; other families than TCP's are left out
"""
import faulthandler
import importlib
import re
import sys
import unittest

# other families and protocols, resolvers, and what depends on time alone
OTHERS = re.compile(
    "CAN|ISOTP|J1939|RDS|VSOCK|QIPCRTR|BT|Bluetooth|HYPERV|UDP|Udp|UDPLITE|SCTP|Alg|LinuxKernelCrypto|"
    "Unix|UNIX|Datagram|Dgram|dgram|Subprocess|subprocess|Pipe|getaddrinfo|gethostby|"
    "test_ssl.*(Simple|Context|Certificate)|Proactor|Windows|SendrecvFds|FDPass|RFC3542|"
    "MAX_SELECT|above_fd_setsize|idna|test_timeout_connect")


class Outcomes(unittest.TestResult):
    """Says each at once: a test that never ends is the next one."""

    def tell(self, outcome, test):
        print(outcome, test.id(), flush=True)

    def addSuccess(self, test):
        self.tell("ok", test)

    def addSkip(self, test, reason):
        self.tell("skipped", test)

    def why(self, test, error):
        kind, value, _ = error
        print(f"{test.id()}: {kind.__name__}: {value}", file=sys.stderr, flush=True)

    def addFailure(self, test, err):
        self.tell("failed", test)
        self.why(test, err)

    def addError(self, test, err):
        self.tell("error", test)
        self.why(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.tell("failed", subtest)
            self.why(subtest, err)


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        elif not OTHERS.search(test.id()):
            yield test


def main():
    faulthandler.dump_traceback_later(600, exit=True)
    for name in sys.argv[1:]:
        module = importlib.import_module("test." + name)
        if hasattr(module, "setUpModule"):
            module.setUpModule()
        loaded = unittest.TestLoader().loadTestsFromModule(module)
        unittest.TestSuite(tests_of(loaded)).run(Outcomes())


if __name__ == "__main__":
    main()
