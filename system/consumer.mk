# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# For the Kbuild of a kernel module that uses krdma (docs/kdapl.md, "Building one"):
#
#	include /usr/src/krdma/consumer.mk
#	obj-m += my_consumer.o
#
# It finds krdma's headers, and the versions of krdma's symbols for the kernel that is built for.
# The latter are those of the installed modules: of "make install", or of the package krdma-dkms.

krdma_folder := $(dir $(lastword $(MAKEFILE_LIST)))
krdma_symbols := $(firstword $(wildcard /lib/modules/$(KERNELRELEASE)/updates/krdma.symvers \
	/var/lib/dkms/krdma/kernel-$(KERNELRELEASE)-*/Module.symvers))

ifeq ($(krdma_symbols),)
$(warning krdma is not installed for the kernel $(KERNELRELEASE))
endif

ccflags-y += -I$(krdma_folder)include
KBUILD_EXTRA_SYMBOLS += $(krdma_symbols)
