# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the Makefiles of the user-space parts share; "top" is set before.

version := $(shell cat $(top)/VERSION)
PREFIX ?= /usr
# The folder of Debian's multiarch is for /usr alone.
LIBDIR ?= $(PREFIX)/lib$(if $(filter /usr,$(PREFIX)),/$(shell $(CC) -print-multiarch 2>/dev/null))

# WERROR=1: a warning is an error. CI sets it.
# No path of the building machine gets into a program.
common_flags := -Wall -Wextra $(if $(WERROR),-Werror) -ffile-prefix-map=$(top)=.
