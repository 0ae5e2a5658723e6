# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Parts of the krdma command over netlink sockets that the test plays.

TOOLS_DIR := $(TOP)/uapi/tools
TOOLS_TEST_DIR := $(TOP)/tests/unit/tools
TOOLS_CXXFLAGS := $(CXXFLAGS) -std=c++20 $(WARN) -I$(TOOLS_DIR) -I$(TOP)/uapi/include \
	-I$(TOP)/uapi/ual/include
TOOLS_SRC := $(TOOLS_TEST_DIR)/hw_devices_test.cpp $(TOOLS_TEST_DIR)/fake_netlink.cpp \
	$(TOOLS_DIR)/hw_devices.cpp $(TOOLS_DIR)/genetlink.cpp

TESTS += tools_test

$(OUT)/tools_test: $(TOOLS_SRC) $(wildcard $(TOOLS_DIR)/*.hpp $(TOOLS_TEST_DIR)/*.hpp) \
		$(TOP)/uapi/include/krdma/hw-netlink.h
	@mkdir -p $(@D)
	$(CXX) $(TOOLS_CXXFLAGS) $(SAN) -o $@ $(filter %.cpp,$^) -lmnl -lgtest -lgtest_main -lpthread
