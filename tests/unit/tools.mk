# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The parts of the krdma command that need no kernel: rules as words, names of units, what --persist
# does to files and to a systemctl that the test plays, adopted devices over netlink sockets that it
# plays, too.

TOOLS_TEST_DIR := $(TOP)/tests/unit/tools
TOOLS_SRC := $(wildcard $(TOOLS_TEST_DIR)/*.cpp) \
	$(addprefix $(TOP)/uapi/tools/,command.cpp persistence.cpp unit_name.cpp offload_rule.cpp \
		hw_devices.cpp genetlink.cpp)
TOOLS_OBJ := $(TOOLS_SRC:$(TOP)/%.cpp=$(OUT)/obj/tools/%.o)

TESTS += tools_test

$(TOOLS_OBJ): $(OUT)/obj/tools/%.o: $(TOP)/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(USER_CXXFLAGS) -I$(TOP)/uapi/ual/include -I$(TOP)/uapi/include -I$(TOP)/uapi/tools \
		-I$(TOOLS_TEST_DIR) -c -o $@ $<

$(OUT)/tools_test: $(TOOLS_OBJ)
	$(CXX) $(CXXFLAGS) $(SAN) -o $@ $^ -lfmt -lmnl -lgtest -lgtest_main -lpthread
