# ebin/: the beams and the application file.

VERSION := $(shell sed -n 's/.*{vsn, *"\([^"]*\)"}.*/\1/p' src/inviso.app.src)
MODULES := $(patsubst src/%.erl,%,$(wildcard src/*.erl))
BEAMS := $(MODULES:%=$(EBIN)/%.beam)

# r25: what a newer compiler makes must load on the oldest release we support;
# OTP 25's own takes the word for nothing.
ERLC_FLAGS := +debug_info +deterministic +r25 -I include

.PHONY: beams
beams: $(BEAMS) $(EBIN)/inviso.app	## compile ebin/ only

$(EBIN)/%.beam: src/%.erl $(wildcard include/*.hrl src/*.hrl) mk/erlang.mk
	@mkdir -p $(@D)
	$(call say,ERLC,$<)
	$(Q)$(ERLC) -Werror $(ERLC_FLAGS) -o $(@D) $<

$(EBIN)/inviso.app: src/inviso.app.src $(wildcard src/*.erl)
	@mkdir -p $(@D)
	@sed 's/{modules, \[\]}/{modules, [$(subst $(space),$(comma) ,$(MODULES))]}/' $< >$@
