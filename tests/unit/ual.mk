# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# libkrdma over a kernel that the test plays, and what the krdma command prints.

UAL_DIR := $(TOP)/uapi/ual
UAL_TEST_DIR := $(TOP)/tests/unit/ual
UAL_OBJ_DIR := $(OUT)/obj/uapi
UAL_CXXFLAGS := $(CXXFLAGS) -std=c++20 $(WARN) -MMD -MP -I$(UAL_DIR)/include -I$(TOP)/uapi/include \
	-I$(UAL_DIR) -I$(TOP)/uapi/tools -I$(TOP)/uapi/uvp_soft -I$(UAL_TEST_DIR)
UAL_SRC := $(wildcard $(UAL_DIR)/*.cpp $(UAL_TEST_DIR)/*.cpp) $(addprefix $(TOP)/uapi/tools/,output.cpp prometheus.cpp)
UAL_OBJ := $(UAL_SRC:$(TOP)/%.cpp=$(OUT)/obj/%.o)

TESTS += ual_test ual_tsan_test

# its user library stands beside it, as the library under test finds it
$(UAL_OBJ): UAL_DEFINES := -DKRDMA_UVP_DIR='"$(OUT)/uvp_soft"'
$(UAL_OBJ): $(OUT)/obj/%.o: $(TOP)/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(UAL_CXXFLAGS) $(SAN) $(UAL_DEFINES) -c -o $@ $<

# user libraries that lack something, for uvp_test.cpp
UAL_FAKES := $(patsubst %,$(OUT)/uvp_fake/%.so,gaps no-receive half-srq short version objects half-mr)
$(OUT)/uvp_fake/no-receive.so: FAKE := -DFAKE_NO_RECEIVE
$(OUT)/uvp_fake/half-srq.so: FAKE := -DFAKE_HALF_SRQ
$(OUT)/uvp_fake/short.so: FAKE := -DFAKE_SIZE='offsetof(struct krdma_uvp_ops,qp_create)'
$(OUT)/uvp_fake/version.so: FAKE := -DFAKE_VERSION=99
$(OUT)/uvp_fake/objects.so: FAKE := -DFAKE_OBJECTS
$(OUT)/uvp_fake/half-mr.so: FAKE := -DFAKE_OBJECTS -DFAKE_NO_REREGISTER
$(UAL_FAKES): $(UAL_TEST_DIR)/fake_uvp.c $(UAL_DIR)/include/krdma/uvp.h $(TOP)/uapi/include/krdma/soft-abi.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=c11 -pedantic $(WARN) -fPIC -shared -I$(UAL_DIR)/include -I$(TOP)/uapi/include \
		$(FAKE) -o $@ $<

$(OUT)/ual_test: $(UAL_OBJ) | $(UVP_LIBRARY) $(UAL_FAKES)
	$(CXX) $(CXXFLAGS) $(SAN) -o $@ $(UAL_OBJ) -lfmt -lgtest -lgtest_main -lpthread -ldl

# threads that share objects
UAL_TSAN_SRC := $(wildcard $(UAL_DIR)/*.cpp) $(UAL_TEST_DIR)/fake_kernel.cpp $(UAL_TEST_DIR)/threads_test.cpp
UAL_TSAN_OBJ := $(UAL_TSAN_SRC:$(TOP)/%.cpp=$(OUT)/obj/tsan/%.o)

$(UAL_TSAN_OBJ): $(OUT)/obj/tsan/%.o: $(TOP)/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(UAL_CXXFLAGS) -fsanitize=thread -DKRDMA_UVP_DIR='"$(OUT)/uvp_soft"' -c -o $@ $<

$(OUT)/ual_tsan_test: $(UAL_TSAN_OBJ)
	$(CXX) $(CXXFLAGS) -fsanitize=thread -o $@ $^ -lgtest -lgtest_main -lpthread -ldl
