# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The hostile peer's own wire code, against published frames.

TESTS += wire_test

$(OUT)/wire_test: $(TOP)/tests/unit/wire/wire_test.cpp $(TOP)/tests/vm/progs/wire.cpp \
		$(TOP)/tests/vm/progs/wire.hpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(SAN) -std=c++20 $(WARN) -I$(TOP)/tests/vm/progs -o $@ \
		$(filter %.cpp,$^) -lgtest -lgtest_main -lpthread
