# What the command carries for the nodes that it attaches to: modules, NIFs and
# spooler, in an archive that only programs with the room `node' in them want.
#
# The beams are made anew: what lies in ebin/ may be the work of another tool
# (rebar3 compiles there, too), and need not load on every release.

PAYLOAD_DIR := $(BUILD)/payload
PAYLOAD_BEAMS := $(PAYLOAD_DIR)/beams.stamp
PAYLOAD_FILES := $(addprefix $(PAYLOAD_DIR)/,boot_head boot_tail build)

$(PAYLOAD_BEAMS): $(ERL_SOURCES) $(wildcard include/*.hrl) mk/payload.mk tools/erlc25
	@mkdir -p $(@D)/ebin
	$(call say,ERLC,what is pushed)
	$(Q)rm -f $(@D)/ebin/*
	$(Q)ERLC='$(ERLC)' OTP_RELEASE=$(OTP_RELEASE) tools/erlc25 -o $(@D)/ebin +deterministic -I include $(ERL_SOURCES)
	@touch $@

# The NIFs do not compile under ThreadSanitizer, which the VM would not bear
# anyway: empty ones, so that the room's threads can still be watched.
PAYLOAD_NIF := $(if $(filter tsan,$(MODE)),$(PAYLOAD_DIR)/inviso_tracer.so,$(NIF))
PAYLOAD_ENGINE := $(if $(filter tsan,$(MODE)),$(PAYLOAD_DIR)/inviso_engine.so,$(ENGINE))
$(PAYLOAD_DIR)/inviso_tracer.so $(PAYLOAD_DIR)/inviso_engine.so:
	@mkdir -p $(@D)
	@: >$@

$(PAYLOAD_DIR)/build: $(PAYLOAD_BEAMS) $(PAYLOAD_NIF) $(PAYLOAD_ENGINE) $(SPOOL) tools/payload.escript
	$(call say,PAYLOAD,$(@D))
	$(Q)escript tools/payload.escript $(<D)/ebin $(PAYLOAD_NIF) $(PAYLOAD_ENGINE) $(SPOOL) $(@D)
$(PAYLOAD_DIR)/boot_head $(PAYLOAD_DIR)/boot_tail: $(PAYLOAD_DIR)/build ;

$(PAYLOAD_DIR)/data.o: c_src/node/payload_data.S $(PAYLOAD_FILES) $(PAYLOAD_NIF) $(PAYLOAD_ENGINE) $(SPOOL) $(FLAGS_STAMP)
	$(Q)$(CC) -c -o $@ -DBUILD='"$(@D)/build"' -DBOOT_HEAD='"$(@D)/boot_head"' -DBOOT_TAIL='"$(@D)/boot_tail"' \
		-DNIF='"$(PAYLOAD_NIF)"' -DSPOOL='"$(SPOOL)"' -DENGINE='"$(PAYLOAD_ENGINE)"' $<

$(PAYLOAD): $(PAYLOAD_DIR)/data.o
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcsD $@ $^
