# inviso: one makefile without recursion into directories; its parts are in
# mk/. `make help` lists targets and knobs.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

# -Otarget: a recipe's output is printed when the recipe has ended. The listed
# targets print their progress. All processors are used unless -j is given.
MAKEFLAGS += --no-print-directory --no-builtin-rules
ifeq ($(filter bench bench-real check demo fuzz lint matrix sanitize soak,$(MAKECMDGOALS)),)
MAKEFLAGS += -Otarget
endif
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

# V=1 shows the commands, otherwise one short line for each.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) '$(2)')

include mk/modes.mk
include mk/otp.mk
include mk/rooms.mk
include mk/erlang.mk
include mk/payload.mk
include mk/install.mk
include mk/test.mk
include mk/lint.mk

.PHONY: all priv clean help deps demo FORCE

all: c-products beams		## build everything: priv/ (command, spooler, NIF) and ebin/
priv: $(PRIV_PRODUCTS)		## build what a dependency needs: NIF, spooler, and the command if its libraries are installed

deps:				## install what is missing of tools/apt-packages (root or sudo)
	@tools/deps.sh all

demo:				## install what is missing, build, trace two real nodes, print the merged timeline
	@tools/deps.sh build
	@$(MAKE) all
	@if test -x demo/run; then exec demo/run; else echo 'demo/run is not there' >&2; exit 1; fi

clean:				## remove all built files
	rm -rf build priv ebin

help:				## this list
	@printf 'targets:\n'
	@sed -n 's/^\([a-z][a-z-]*\):.*##[[:space:]]*/  \1\t/p' $(MAKEFILE_LIST) | sort | expand -t 18
	@printf 'knobs:\n'
	@sed -n 's/^#: */  /p' $(MAKEFILE_LIST)
