# ebin/: the beams and the application file.

VERSION := $(shell sed -n 's/.*{vsn, *"\([^"]*\)"}.*/\1/p' src/inviso.app.src)
ERL_SOURCES := $(wildcard src/*.erl src/*/*.erl)
MODULES := $(basename $(notdir $(ERL_SOURCES)))
BEAMS := $(MODULES:%=$(EBIN)/%.beam)

# As with C: warnings are errors where we develop, never in a user's build.
WERL := $(if $(WERROR),-Werror)
ERLC_FLAGS := +debug_info +deterministic -I include

.PHONY: beams
beams: $(BEAMS) $(EBIN)/inviso.app	## compile ebin/ only

vpath %.erl src $(wildcard src/*/)
$(EBIN)/%.beam: %.erl $(wildcard include/*.hrl) mk/erlang.mk tools/erlc25
	@mkdir -p $(@D)
	$(call say,ERLC,$<)
	$(Q)ERLC='$(ERLC)' OTP_RELEASE=$(OTP_RELEASE) tools/erlc25 -o $(@D) $(WERL) $(ERLC_FLAGS) $<

$(EBIN)/inviso.app: src/inviso.app.src $(ERL_SOURCES)
	@mkdir -p $(@D)
	@sed 's/{modules, \[\]}/{modules, [$(subst $(space),$(comma) ,$(MODULES))]}/' $< >$@
