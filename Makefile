# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Top-level Makefile; "make help" says what there is.
#
# Kernel modules are built in place by the kernel's own build (Kbuild),
# everything else below build/.

RELEASE := $(shell uname -r)
# Debian's newest 6.12 kernel, of Debian 12 or 13, which the virtual machine boots
debian_release = $(notdir $(lastword $(shell ls -d /lib/modules/6.12.*deb[0-9][0-9]-$(1)amd64 2>/dev/null | sort -V)))
VM_RELEASE := $(call debian_release)
# the same kernel as PREEMPT_RT, where it is installed; and its flavour for clouds
RT_RELEASE := $(call debian_release,rt-)
CLOUD_RELEASE := $(call debian_release,cloud-)
# Modules are for the running kernel, or for the newest one that has headers.
headers_of = $(patsubst /lib/modules/%/build/Makefile,%,$(wildcard $(1:%=/lib/modules/%/build/Makefile)))
WITH_HEADERS := $(shell printf '%s\n' $(call headers_of,*) | sort -V)
KRELEASE ?= $(or $(call headers_of,$(RELEASE)),$(lastword $(WITH_HEADERS)))
KDIR ?= /lib/modules/$(KRELEASE)/build
VM_KDIR := /lib/modules/$(VM_RELEASE)/build

VERSION := $(shell cat VERSION)
BUILD := $(CURDIR)/build
DESTDIR ?=
PREFIX ?= /usr
LIBDIR ?= $(PREFIX)/lib$(if $(filter /usr,$(PREFIX)),/$(shell $(CC) -print-multiarch 2>/dev/null))
# those that read these look nowhere else, whatever PREFIX is
SYSCONFDIR ?= /etc
UNITDIR ?= /lib/systemd/system
UNITS := krdma@.service krdma-adopt@.service krdma-offload.service
UDEVDIR ?= /lib/udev/rules.d
MODLOADDIR ?= /usr/lib/modules-load.d
# for kernel modules that use krdma; dkms has its own folder beside it
SRCDIR ?= /usr/src/krdma
export PREFIX LIBDIR WERROR

# a package is built for KDIR's kernel, an installation is for the running one
MODULE_DIR = $(DESTDIR)/lib/modules/$(if $(DESTDIR),$(KRELEASE),$(RELEASE))/updates
PROVIDER_DIR = $(DESTDIR)$(LIBDIR)/libibverbs
UVP_DIR = $(DESTDIR)$(LIBDIR)/krdma
INCLUDE_DIR = $(DESTDIR)$(PREFIX)/include/krdma
BIN_DIR = $(DESTDIR)$(PREFIX)/bin
MAN_DIR = $(DESTDIR)$(PREFIX)/share/man
DOC_DIR = $(DESTDIR)$(PREFIX)/share/doc/krdma
COMPLETION_DIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
DRIVER_DIR = $(DESTDIR)$(SYSCONFDIR)/libibverbs.d
MODULES := krdma.ko krdma_kdapl.ko krdma_soft.ko krdma_hw.ko krdma_ops.ko krdma_sdp.ko krdma_iser.ko
# those that the kernel can have, see Kbuild
BUILT_MODULES = $(filter $(MODULES),$(addsuffix .ko,$(basename $(notdir $(shell cat modules.order)))))
VERBS_ABI = $(shell scripts/verbs-abi $(CXX))
PROVIDER = $(BUILD)/uvp_soft/libkrdma-rdmav$(VERBS_ABI).so
DRIVER := $(BUILD)/uvp_soft/krdma.driver
UVP := $(BUILD)/uvp_soft/libkrdma-uvp-soft.so
LIBKRDMA := $(BUILD)/ual/libkrdma.so.1
KERNEL_HEADERS := $(wildcard kal/include/krdma/*.h ops/include/krdma/*.h uapi/include/krdma/*.h)
HEADERS := $(wildcard uapi/ual/include/krdma/*.h*) \
	$(addprefix uapi/include/krdma/,krdma-abi.h krdma-netlink.h hw-netlink.h offload-netlink.h sdp.h)
TEXTS := README.md CHANGELOG.md $(wildcard LICENSES/*)
DOCUMENTS := $(wildcard docs/*.md docs/*.json docs/performance/*.md)
DEBUG_MODULES := $(BUILD)/debug/modules
SIW_KDIR ?= $(VM_KDIR)
SIW_OUT ?= $(BUILD)/siw

.DEFAULT_GOAL := all
.PHONY: all modules user provider ual tools examples progs unit-programs vm-modules demo-modules fuzz fuzz-programs deps install \
	install-modules install-built-modules install-kernel-headers install-user install-headers uninstall man3 deb dkms-source version \
	demo check check-all vm vm-check conformance unit lint clean help debug-kernel debug-modules debug-check rt-modules cloud-modules \
	kernel-modules \
	siw bench guest-programs bench-programs bench-modules

all: modules user ## build everything: modules, libraries, the krdma command, test programs

modules: ## build the kernel modules for KDIR (the running kernel, else the newest with headers)
	@[ -e "$(KDIR)/Makefile" ] || { \
		echo "error: no headers of a kernel in $(KDIR)"; \
		echo "       krdma is for 6.1, 6.12, 7.2, 7.3, and those between them. This host runs $(RELEASE)."; \
		echo "       Kernels with headers: $(or $(WITH_HEADERS),none)"; \
		echo "       Run scripts/install-deps, or give KDIR=..."; exit 1; }
	+$(MAKE) -C $(KDIR) M=$(CURDIR) modules

# the same for the kernel of the virtual machine, with the tests' modules
vm-modules:
	+@$(MAKE) --no-print-directory modules KDIR=$(VM_KDIR) KRDMA_TESTS=1

# the same with what the demo's guest needs, and nothing of the tests
demo-modules:
	+@$(MAKE) --no-print-directory modules KDIR=$(VM_KDIR) KRDMA_TESTS=guest

# the same without unit tests and protocols of the tests
bench-modules:
	+@$(MAKE) --no-print-directory modules KDIR=$(VM_KDIR) KRDMA_TESTS=consumers

# The sources' twin, so that the objects of one kernel do not replace the other's.
define modules_twin
	@mkdir -p $(1)
	@find Makefile Kbuild VERSION README.md CHANGELOG.md LICENSES docs system scripts/man3 kal kvp_soft kvp_hw ops sdp ulp uapi tests/kunit tests/consumers tests/emulator tests/offload -type f ! -path '*/generated/*' ! -name '*.mod.c' ! -name '*.mod' \
		! -name '*.o' ! -name '*.cmd' ! -name '*.ko' ! -name modules.order -exec cp -pu --parents -t $(1) {} +
endef

# twin_modules FOLDER,KDIR: the twin, built for a kernel
define twin_modules
	$(call modules_twin,$(1))
	+@$(MAKE) --no-print-directory -C $(2) M=$(1) KRDMA_TESTS=$(KRDMA_TESTS) modules
endef
debug-modules rt-modules cloud-modules kernel-modules: KRDMA_TESTS = 1

debug-modules: debug-kernel ## modules and KUnit tests for the debug kernel, in build/debug/modules
	$(call twin_modules,$(DEBUG_MODULES),$$(scripts/debug-kernel --where)/build)
	+@$(MAKE) --no-print-directory siw LOCKDEP=1 SIW_OUT=$(DEBUG_MODULES)/build/siw \
		SIW_KDIR=$$(scripts/debug-kernel --where)/build

# modules for Debian's flavours of the kernel, which scripts/flavour installs
define flavour_modules
	@[ -n "$(2)" ] || { echo "Next: scripts/flavour $(1)"; exit 1; }
	$(call twin_modules,$(BUILD)/$(1)/modules,/lib/modules/$(2)/build)
	+@$(MAKE) --no-print-directory siw SIW_KDIR=/lib/modules/$(2)/build SIW_OUT=$(BUILD)/$(1)/modules/build/siw
endef

rt-modules: ## modules for Debian's PREEMPT_RT kernel (scripts/flavour rt), in build/rt/modules
	$(call flavour_modules,rt,$(RT_RELEASE))

cloud-modules: ## modules for Debian's kernel for clouds (scripts/flavour cloud), in build/cloud/modules
	$(call flavour_modules,cloud,$(CLOUD_RELEASE))

kernel-modules: ## modules for the installed kernel KRELEASE, in build/kernels/KRELEASE
	$(call twin_modules,$(BUILD)/kernels/$(KRELEASE),/lib/modules/$(KRELEASE)/build)

siw: ## build siw, the kernel's own software iWARP, a peer of the virtual machine's cases
	+@$(MAKE) --no-print-directory -C tests/interop KDIR=$(SIW_KDIR) OUT=$(SIW_OUT)
	+@$(MAKE) --no-print-directory -C tests/interop DMA=1 KDIR=$(SIW_KDIR) OUT=$(SIW_OUT)-dma

user: guest-programs unit-programs ## build the user-space parts

# what runs in the virtual machine
guest-programs: provider tools examples progs

# what make bench measures
bench-programs:
	+@$(MAKE) --no-print-directory -C tests/vm/progs BUILD=$(BUILD) bench

provider:
	+@$(MAKE) --no-print-directory -C uapi/uvp_soft BUILD=$(BUILD)

ual:
	+@$(MAKE) --no-print-directory -C uapi/ual BUILD=$(BUILD)

tools: ual
	+@$(MAKE) --no-print-directory -C uapi/tools BUILD=$(BUILD)

examples: ual
	+@$(MAKE) --no-print-directory -C uapi/examples BUILD=$(BUILD)

progs: ual
	+@$(MAKE) --no-print-directory -C tests/vm/progs BUILD=$(BUILD)
	+@$(MAKE) --no-print-directory -C tests/interop selftests OUT=$(BUILD)/progs
	+@$(MAKE) --no-print-directory -C tests/sdp OUT=$(BUILD)/sdp

unit-programs:
	+@$(MAKE) --no-print-directory -C tests/unit build OUT=$(BUILD)/unit

fuzz-programs:
	+@$(MAKE) --no-print-directory -C tests/fuzz KDIR=$(VM_KDIR) OUT=$(BUILD)/fuzz

deps: ## install the Debian packages that building and testing need
	@scripts/install-deps

install: ## install for the running kernel: modules, libraries, command, documents (DESTDIR, PREFIX, LIBDIR)
	+@$(MAKE) --no-print-directory install-modules install-user install-headers
	$(if $(DESTDIR),,ldconfig)
	$(if $(DESTDIR),,[ ! -d /run/systemd/system ] || systemctl daemon-reload)
	@echo "Installed. Next: krdma link add <interface>, with --persist for every boot"

install-modules:
	+@$(MAKE) --no-print-directory modules $(if $(DESTDIR),,KDIR=/lib/modules/$(RELEASE)/build)
	+@$(MAKE) --no-print-directory install-built-modules

# signed before they are stripped would be signed no more
install-built-modules:
	install -d $(MODULE_DIR)
	install -m 644 $(BUILT_MODULES) $(MODULE_DIR)
	strip --strip-debug $(addprefix $(MODULE_DIR)/,$(BUILT_MODULES))
	install -m 644 Module.symvers $(MODULE_DIR)/krdma.symvers
	+@$(MAKE) --no-print-directory install-kernel-headers
	$(if $(DESTDIR),,depmod $(RELEASE))

# all that a kernel module which uses krdma needs to be built, but for the versions of the symbols
install-kernel-headers:
	install -d $(DESTDIR)$(SRCDIR)/include/krdma
	install -m 644 system/consumer.mk $(DESTDIR)$(SRCDIR)
	install -m 644 $(KERNEL_HEADERS) $(DESTDIR)$(SRCDIR)/include/krdma

# all that needs no kernel
install-user: provider tools
	install -d $(PROVIDER_DIR) $(DRIVER_DIR) $(UVP_DIR) $(BIN_DIR) $(MAN_DIR)/man1 $(COMPLETION_DIR) \
		$(DESTDIR)$(UNITDIR) $(DESTDIR)$(UDEVDIR) $(DESTDIR)$(MODLOADDIR) $(DOC_DIR)
	install -m 644 $(PROVIDER) $(PROVIDER_DIR)
	install -m 644 $(DRIVER) $(DRIVER_DIR)
	$(if $(filter /usr,$(PREFIX)),,echo 'driver $(LIBDIR)/libibverbs/libkrdma' > $(DRIVER_DIR)/krdma.driver)
	install -m 644 $(LIBKRDMA) $(DESTDIR)$(LIBDIR)
	install -m 644 $(UVP) $(UVP_DIR)
	install -m 755 $(BUILD)/tools/krdma $(BIN_DIR)
	install -m 644 $(BUILD)/tools/krdma.1 $(MAN_DIR)/man1
	install -m 644 uapi/tools/krdma.bash $(COMPLETION_DIR)/krdma
	for unit in $(UNITS); do \
		sed 's|@BINDIR@|$(PREFIX)/bin|' system/$$unit > $(DESTDIR)$(UNITDIR)/$$unit && \
		chmod 644 $(DESTDIR)$(UNITDIR)/$$unit || exit; \
	done
	install -m 644 system/60-krdma.rules $(DESTDIR)$(UDEVDIR)
	install -m 644 system/krdma.conf $(DESTDIR)$(MODLOADDIR)
	install -m 644 $(TEXTS) $(DOC_DIR)
	for file in $(DOCUMENTS); do install -D -m 644 $$file $(DOC_DIR)/$$file || exit; done

# all that a program needs to be compiled
install-headers: man3
	+@$(MAKE) --no-print-directory -C uapi/ual BUILD=$(BUILD) $(abspath $(BUILD))/ual/krdma.pc
	install -d $(INCLUDE_DIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(MAN_DIR)/man3
	install -m 644 $(HEADERS) $(INCLUDE_DIR)
	install -m 644 $(BUILD)/ual/krdma.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(BUILD)/man3/*.3 $(MAN_DIR)/man3
	ln -sf $(notdir $(LIBKRDMA)) $(DESTDIR)$(LIBDIR)/libkrdma.so

man3: ## man pages of the library, made from its headers, in build/man3
	@scripts/man3 $(BUILD)/man3

# With DESTDIR there is one tree of modules; without it, one for each kernel on the host.
uninstall: ## take away what install put there, for all kernels
	for dir in $(DESTDIR)/lib/modules/*; do \
		[ -e "$$dir/updates/krdma.ko" ] || continue; \
		rm -f $(MODULES:%="$$dir/updates/%") "$$dir/updates/krdma.symvers"; \
		rmdir --ignore-fail-on-non-empty "$$dir/updates"; \
		[ -n "$(DESTDIR)" ] || depmod "$${dir##*/}"; \
	done
	rm -f $(PROVIDER_DIR)/libkrdma-rdmav*.so $(DRIVER_DIR)/$(notdir $(DRIVER)) \
		$(DESTDIR)$(LIBDIR)/libkrdma.so $(DESTDIR)$(LIBDIR)/$(notdir $(LIBKRDMA)) \
		$(UVP_DIR)/$(notdir $(UVP)) $(addprefix $(INCLUDE_DIR)/,$(notdir $(HEADERS))) \
		$(DESTDIR)$(LIBDIR)/pkgconfig/krdma.pc $(BIN_DIR)/krdma $(MAN_DIR)/man1/krdma.1 \
		$(MAN_DIR)/man3/ual_*.3 $(MAN_DIR)/man3/libkrdma.3 $(COMPLETION_DIR)/krdma \
		$(addprefix $(DESTDIR)$(UNITDIR)/,$(UNITS)) $(DESTDIR)$(UDEVDIR)/60-krdma.rules \
		$(DESTDIR)$(MODLOADDIR)/krdma.conf $(addprefix $(DOC_DIR)/,$(notdir $(TEXTS)) $(DOCUMENTS)) \
		$(DESTDIR)$(SRCDIR)/consumer.mk $(addprefix $(DESTDIR)$(SRCDIR)/include/krdma/,$(notdir $(KERNEL_HEADERS)))
	for dir in $(DESTDIR)$(SRCDIR)/include/krdma $(DESTDIR)$(SRCDIR)/include $(DESTDIR)$(SRCDIR) \
			$(UVP_DIR) $(INCLUDE_DIR) $(DOC_DIR)/docs/performance $(DOC_DIR)/docs $(DOC_DIR); do \
		[ ! -d "$$dir" ] || rmdir --ignore-fail-on-non-empty "$$dir"; \
	done
	$(if $(DESTDIR),,ldconfig)
	$(if $(DESTDIR),,[ ! -d /run/systemd/system ] || systemctl daemon-reload)

# the modules' sources, as dkms builds them
dkms-source:
	install -d $(DESTDIR)/usr/src/krdma-$(VERSION)
	find Kbuild VERSION LICENSES kal kvp_soft kvp_hw ops sdp ulp uapi/include -type f \
		\( -name '*.[ch]' -o -name Kbuild -o -name VERSION -o -path 'LICENSES/*' \
		-o -path kal/compat/features \) ! -path '*/generated/*' ! -name '*.mod.c' \
		-exec cp -p --parents -t $(DESTDIR)/usr/src/krdma-$(VERSION) {} +
	install -m 755 system/dkms-keep-symbols $(DESTDIR)/usr/src/krdma-$(VERSION)

deb: ## Debian packages, in build/deb; checked by lintian
	@scripts/deb $(BUILD)/deb

print-%:
	@echo '$($*)'

version: ## the version, checked where it is written
	@scripts/version

demo: ## from nothing to perftest results: packages, build, virtual machine, table
	@scripts/install-deps demo
	@tests/vm/demo

check: ## all kinds of tests in 72 minutes, FAST=1: in ten; verdict on the last line
	@scripts/check $(if $(FAST),fast)

check-all: ## every size and repetition, on every kernel: stock, debug, Debian's rt and cloud; no limit of time
	@scripts/check all

vm: vm-modules siw guest-programs ## a shell in the guest, modules loaded, hosts A and B ready
	@tests/vm/run --shell

vm-check: vm-modules siw guest-programs ## the virtual machine cases alone; CASE=glob picks some
	@tests/vm/run $(if $(CASE),-c '$(CASE)')

# what a provider's author runs
conformance: vm-modules siw guest-programs ## what providers owe: tables of checks x krdma_soft, siw, rxe
	@tests/vm/run -c '28-hw-*'; status=$$?; \
		find $(BUILD)/vm/out -name '*.table' | sort | xargs -r cat; exit $$status

bench: bench-modules siw provider tools bench-programs ## krdma, siw, rxe and TCP side by side; QUICK=1 MODE=icount ONLY=glob ROUNDS=n PROFILE=ib_write_bw:65536 TEST='ib_send_bw -s 3000 -q 4'
	@tests/bench/run $(if $(QUICK),--quick) $(if $(MODE),--mode $(MODE)) $(if $(ONLY),--only '$(ONLY)') \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(PROFILE),--profile $(PROFILE)) $(if $(DOCS),--docs) \
		$(if $(TEST),--test '$(TEST)')

debug-kernel: ## the kernel of make debug-check, kept below ~/.cache/krdma
	@scripts/debug-kernel

debug-check: ## KUnit suites and every case on the debug kernel; CASE=glob picks some
	@scripts/check build debug

unit: unit-programs ## the user-space unit tests alone
	@scripts/check unit

fuzz: fuzz-programs ## fuzz the receive path and the MPA start-up; TIME=seconds for each
	@tests/fuzz/run $(or $(TIME),600)

lint: ## sparse, W=1, checkpatch, clang-format, clang-tidy, shellcheck, floors, licence lines
	@scripts/lint

clean: ## remove all that was built
	-@[ ! -e "$(KDIR)/Makefile" ] || $(MAKE) -s -C $(KDIR) M=$(CURDIR) clean
	rm -rf build

help: ## this list
	@echo "krdma: an OpenRDMA stack for Linux"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'
	@echo
	@echo "First time: make demo. One test again: tests/vm/run -c NAME (tests/vm/run -l lists them)."
