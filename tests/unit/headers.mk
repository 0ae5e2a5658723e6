# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# libkrdma's headers as they are installed, against the programs in its documentation.

TESTS += headers_test

$(OUT)/headers_test: $(TOP)/tests/unit/headers/headers_test.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++20 $(WARN) -DTREE='"$(TOP)"' -DBUILD='"$(OUT)/obj/headers"' \
		-DCC='"$(CC)"' -DCXX='"$(CXX)"' -o $@ $< -lgtest -lgtest_main -lpthread
