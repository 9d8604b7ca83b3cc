# ebin/: the beams and the application file.

VERSION := $(shell sed -n 's/.*{vsn, *"\([^"]*\)"}.*/\1/p' src/inviso.app.src)
# Modules that define behaviours are compiled before modules that may implement
# them.
BEHAVIOURS := $(shell grep -l '^-callback' src/*/*.erl)
ERL_SOURCES := $(BEHAVIOURS) $(filter-out $(BEHAVIOURS),$(wildcard src/*/*.erl))
MODULES := $(basename $(notdir $(ERL_SOURCES)))
BEAMS := $(MODULES:%=$(EBIN)/%.beam)

# As with C: warnings are errors in all modes but release.
WERL := $(if $(WERROR),-Werror)
COMPILED := $(BUILD)/beams
ERLC_FLAGS := +debug_info +deterministic -I include -pa $(COMPILED)

.PHONY: beams
beams: $(BEAMS) $(EBIN)/inviso.app	## compile ebin/ only

# One run of erlc compiles all changed modules, because its start takes longer
# than compiling a module. All modules are compiled if a header has changed or a
# beam is missing. $(COMPILED) is also what is pushed to nodes (mk/payload.mk);
# another tool, such as rebar3, may write to ebin/, but not there.
COMPILED_BEAMS := $(MODULES:%=$(COMPILED)/%.beam)
COMPILED_STAMP := $(BUILD)/compiled.stamp
missing = $(if $(filter-out $(wildcard $(1)),$(1)),FORCE)
# $(call outdated,NEWER,SOURCES,BEAMS)
outdated = $(if $(filter-out %.erl,$(1))$(call missing,$(3)),$(2),$(1))
# Beams of removed sources.
STALE_BEAMS = $(filter-out $(COMPILED_BEAMS),$(wildcard $(COMPILED)/*))

$(COMPILED_STAMP): $(ERL_SOURCES) $(wildcard include/*.hrl) mk/erlang.mk tools/erlc25 $(call missing,$(COMPILED_BEAMS))
	@mkdir -p $(COMPILED)
	$(call say,ERLC,$(COMPILED))
	$(Q)$(if $(STALE_BEAMS),rm -f $(STALE_BEAMS))
	$(Q)ERLC='$(ERLC)' OTP_RELEASE=$(OTP_RELEASE) tools/erlc25 -o $(COMPILED) $(WERL) $(ERLC_FLAGS) $(call outdated,$?,$(ERL_SOURCES),$(COMPILED_BEAMS))
	@touch $@

BEAMS_STAMP := $(BUILD)/beams.stamp

$(BEAMS): $(BEAMS_STAMP) ;
$(BEAMS_STAMP): $(COMPILED_STAMP) $(call missing,$(BEAMS))
	@mkdir -p $(@D) $(EBIN)
	$(call say,COPY,$(EBIN))
	$(Q)cp $(COMPILED_BEAMS) $(EBIN)
	@touch $@

$(EBIN)/inviso.app: src/inviso.app.src $(ERL_SOURCES)
	@mkdir -p $(@D)
	@sed 's/{modules, \[\]}/{modules, [$(subst $(space),$(comma) ,$(MODULES))]}/' $< >$@
