# How things are compiled: the mode, the flags, the stamp that notices a change.

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
# A sanitized NIF must never be what a user's node loads.
override PRIV := $(BUILD)/priv
EBIN := $(BUILD)/ebin
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wcast-qual -Wwrite-strings -Wpointer-arith -Wundef -Wimplicit-fallthrough
# Not in release: a user's newer compiler must not break an install.
WERROR := $(if $(filter release,$(MODE)),,-Werror)

CFLAGS_release := -O2 -g
CFLAGS_debug := -Og -g3 -DINV_DEBUG
CFLAGS_asan := -O1 -g3 -DINV_DEBUG -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined
# Test points (base/testpoint.h) are real in these two.
CFLAGS_stress := -O2 -g -DINV_TESTPOINTS
CFLAGS_tsan := -O1 -g3 -DINV_DEBUG -DINV_TESTPOINTS -fsanitize=thread
CFLAGS_cover := -O0 -g3 -DINV_DEBUG --coverage
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread
LDFLAGS_cover := --coverage

CPPFLAGS_ALL := -D_GNU_SOURCE -Ic_src $(CPPFLAGS)
CFLAGS_ALL := -std=c11 -pthread -ffunction-sections -fdata-sections \
	$(WARN) $(WERROR) $(CFLAGS_$(MODE)) $(CFLAGS)
LDFLAGS_ALL := -pthread -Wl,--gc-sections -Wl,--as-needed \
	$(LDFLAGS_$(MODE)) $(LDFLAGS)

# Objects depend on this file, which changes only when the compiler or the
# flags do: otherwise clang would be handed gcc's objects.
FLAGS_STAMP := $(BUILD)/flags.stamp
$(FLAGS_STAMP): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(NIF_CFLAGS) $(LDFLAGS_ALL)' >$@.$$$$ && \
	if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv -f $@.$$$$ $@; fi
