# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The rdma-core provider: its rings (once more under ThreadSanitizer), its verbs
# on a fake library, and its file and its layouts under the stock library; the test data of
# krdma_pattern.

UVP_DIR := $(TOP)/uapi/uvp_soft
UVP_TEST_DIR := $(TOP)/tests/unit/uvp
UVP_OUT := $(OUT)/uvp_soft
UVP_ABI := $(shell $(TOP)/scripts/verbs-abi $(CXX))
UVP_LIBRARY := $(UVP_OUT)/libkrdma-rdmav$(UVP_ABI).so
UVP_CXXFLAGS := $(CXXFLAGS) -std=c++20 $(WARN) -MMD -MP -I$(UVP_DIR) -I$(TOP)/uapi/include \
	-DKRDMA_VERBS_ABI=$(UVP_ABI)
# a C program may hand over any number as an enum
UVP_SAN := $(SAN) $(if $(SAN),-fno-sanitize=enum)
# not libkrdma's library
UVP_SRC := $(filter-out %/uvp.cpp,$(wildcard $(UVP_DIR)/*.cpp))
UVP_HDR := $(wildcard $(UVP_DIR)/*.hpp $(TOP)/uapi/include/krdma/*.h)

TESTS += pattern_test uvp_ring_test uvp_ring_tsan_test uvp_provider_test uvp_loading_test uvp_layout_test

$(OUT)/uvp_ring_test: $(UVP_TEST_DIR)/ring_test.cpp $(UVP_HDR)
	@mkdir -p $(@D)
	$(CXX) $(UVP_CXXFLAGS) $(UVP_SAN) -o $@ $< -lgtest -lgtest_main -lpthread

# the fence that it does not model orders nothing that it would miss
$(OUT)/uvp_ring_tsan_test: $(UVP_TEST_DIR)/ring_test.cpp $(UVP_HDR)
	@mkdir -p $(@D)
	$(CXX) $(UVP_CXXFLAGS) -fsanitize=thread -Wno-tsan -o $@ $< -lgtest -lgtest_main -lpthread

$(OUT)/uvp_provider_test: $(UVP_TEST_DIR)/provider_test.cpp $(UVP_TEST_DIR)/fake_ibverbs.cpp \
		$(UVP_TEST_DIR)/fake_ibverbs.hpp $(UVP_SRC) $(UVP_HDR)
	@mkdir -p $(@D)
	$(CXX) $(filter-out -MMD -MP,$(UVP_CXXFLAGS)) $(UVP_SAN) -o $@ $(filter %.cpp,$^) \
		-lgtest -lgtest_main -lpthread

$(UVP_LIBRARY): $(UVP_SRC) $(UVP_HDR) $(UVP_DIR)/Makefile
	$(MAKE) --no-print-directory -C $(UVP_DIR) BUILD=$(OUT)

# not sanitized: it is to load the file that users get
$(OUT)/uvp_loading_test: $(UVP_TEST_DIR)/loading_test.cpp $(UVP_LIBRARY)
	@mkdir -p $(@D)
	$(CXX) $(UVP_CXXFLAGS) -DPROVIDER='"$(UVP_LIBRARY)"' -o $@ $< -lgtest -lgtest_main \
		-libverbs -lpthread

$(OUT)/uvp_layout_test: $(UVP_TEST_DIR)/layout_test.cpp $(UVP_DIR)/verbs_abi.hpp
	@mkdir -p $(@D)
	$(CXX) $(UVP_CXXFLAGS) $(UVP_SAN) -o $@ $< -lgtest -lgtest_main -libverbs -lpthread

$(OUT)/pattern_test: $(UVP_TEST_DIR)/pattern_test.cpp $(TOP)/tests/vm/progs/pattern.cpp \
		$(TOP)/tests/vm/progs/pattern.hpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(SAN) -std=c++20 $(WARN) -I$(TOP)/tests/vm/progs -o $@ \
		$(filter %.cpp,$^) -lgtest -lgtest_main -lpthread
