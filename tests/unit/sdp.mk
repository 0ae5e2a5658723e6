# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The Sockets Direct Protocol: the module's decoder against the independent one of tests/sdp, the
# judge, and two state machines under its eyes.

TESTS += sdp_test

SDP_JUDGE := tests/sdp/message.cpp tests/sdp/judge.cpp tests/sdp/capture.cpp
SDP_TEST_SRC := $(SDP_JUDGE:%.cpp=%) tests/unit/sdp/decoder_test tests/unit/sdp/judge_test \
	tests/unit/sdp/machine_test tests/unit/sdp/wire_bridge tests/unit/sdp/pair_bridge \
	tests/kunit/sdp_pair sdp/state/wire sdp/state/state sdp/state/table sdp/state/credit sdp/state/source sdp/state/sink

$(OUT)/sdp_test: $(SDP_TEST_SRC:%=$(OUT)/obj/%.o)
	$(CXX) $(CXXFLAGS) $(SAN) -o $@ $^ -lgtest -lgtest_main -lpthread
