# The mode, the compiler's flags, and a stamp that changes with them.

#: MODE=release|debug|asan|tsan|stress|cover   objects go to build/MODE; only release writes priv/ and ebin/
MODE ?= release
#: CC=gcc|clang  V=1 (show commands)  WERROR= (warnings are no errors)
ifeq ($(origin CC),default)
CC := gcc
endif

MODES := release debug asan tsan stress cover
$(if $(filter $(MODE),$(MODES)),,$(error MODE=$(MODE): not one of $(MODES)))

BUILD := build/$(MODE)
ifeq ($(MODE),release)
#: PRIV=DIR   where the products go (mix sets MIX_APP_PATH, which is honoured)
PRIV ?= $(if $(MIX_APP_PATH),$(MIX_APP_PATH)/priv,priv)
EBIN := ebin
else
# A user's node must never load a sanitized NIF.
override PRIV := $(BUILD)/priv
EBIN := $(BUILD)/ebin
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wcast-qual -Wwrite-strings -Wpointer-arith -Wundef -Wimplicit-fallthrough
# Warnings are no errors in release mode: a user's newer compiler must not
# break an installation.
WERROR := $(if $(filter release,$(MODE)),,-Werror)

# -g1: stacks have functions and lines, and no variables. A build takes 20 % less
# time than with -g. CFLAGS=-g adds the variables.
CFLAGS_release := -O2 -g1
CFLAGS_debug := -Og -g3 -DINV_DEBUG
CFLAGS_asan := -O1 -g1 -DINV_DEBUG -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined
# Only these two modes have test points (base/testpoint.h).
CFLAGS_stress := -O2 -g1 -DINV_TESTPOINTS
CFLAGS_tsan := -O1 -g1 -DINV_DEBUG -DINV_TESTPOINTS -fsanitize=thread
CFLAGS_cover := -O0 -g3 -DINV_DEBUG --coverage
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread
LDFLAGS_cover := --coverage

CPPFLAGS_ALL := -D_GNU_SOURCE -Ic_src $(CPPFLAGS)
CFLAGS_ALL := -std=c11 -pthread -ffunction-sections -fdata-sections \
	$(WARN) $(WERROR) $(CFLAGS_$(MODE)) $(CFLAGS)
LDFLAGS_ALL := -pthread -Wl,--gc-sections -Wl,--as-needed \
	$(LDFLAGS_$(MODE)) $(LDFLAGS)

# Objects depend on this file, which changes if the compiler or the flags change.
# So objects of gcc and clang are never linked together.
FLAGS_STAMP := $(BUILD)/flags.stamp
$(FLAGS_STAMP): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(NIF_CFLAGS) $(NIF_INLINE) $(HOT_INLINE) $(HOT_LIMITS) $(UNIT_CFLAGS) $(LDFLAGS_ALL)' >$@.$$$$ && \
	if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv -f $@.$$$$ $@; fi
