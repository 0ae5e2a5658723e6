# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# libkrdma's headers as they are installed, against the programs in its documentation.

TESTS += headers_test

$(OUT)/headers_test: $(TOP)/tests/unit/headers/headers_test.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++20 $(WARN) -DHEADERS_TREE='"$(TOP)"' -DHEADERS_BUILD='"$(OUT)/obj/headers"' \
		-DHEADERS_CC='"$(CC)"' -DHEADERS_CXX='"$(CXX)"' -o $@ $< -lgtest -lgtest_main -lpthread
