# The code that is pushed to traced nodes. Erlang nodes push the modules in
# priv/pushed/, each combined of many modules (tools/combine.escript). The command
# contains these modules, the NIFs and the spooler: they are in an archive that is
# linked into programs with the room `node'.
#
# The beams are not taken from ebin/ but from $(COMPILED): another tool, such as
# rebar3, may have compiled those in ebin/, so that they do not load on every
# release.

PAYLOAD_DIR := $(BUILD)/payload
PAYLOAD_COMBINED := $(PAYLOAD_DIR)/combined.stamp
PAYLOAD_FILES := $(addprefix $(PAYLOAD_DIR)/,survey boot_head boot_tail build)
PAYLOAD_ERLC = ERLC='$(ERLC)' OTP_RELEASE=$(OTP_RELEASE) tools/erlc25 -o

$(PAYLOAD_COMBINED): $(COMPILED_STAMP) tools/combine.escript
	@mkdir -p $(@D)/combined
	$(call say,COMBINE,what is pushed)
	$(Q)rm -f $(@D)/combined/*
	$(Q)escript tools/combine.escript $(COMPILED) $(@D)/combined $(ERL_SOURCES)
	$(Q)$(PAYLOAD_ERLC) $(@D)/combined +deterministic +no_line_info +nowarn_unused_vars $(@D)/combined/*.abstr
	@touch $@

$(PUSHED): $(PAYLOAD_COMBINED) tools/payload.escript
	@mkdir -p $(@D)
	$(Q)escript tools/payload.escript pushed $(<D)/combined $(@D)
	@touch $@

# The NIFs do not compile under ThreadSanitizer, and the VM does not work with
# it. There the payload has empty files instead, so that the threads of the room
# `node' can be tested.
PAYLOAD_EMPTY := $(addprefix $(PAYLOAD_DIR)/,inviso_pushed.so inviso_tracer.so inviso_engine.so)
PAYLOAD_NIFS := $(if $(filter tsan,$(MODE)),$(PAYLOAD_EMPTY),$(PUSHED_NIF) $(NIF) $(ENGINE))
$(PAYLOAD_EMPTY):
	@mkdir -p $(@D)
	@: >$@

# The beams are a prerequisite, too: if build/ was removed, $(PUSHED) can be up to
# date without them.
$(PAYLOAD_DIR)/build: $(PUSHED) $(COMPILED_STAMP) $(PAYLOAD_NIFS) $(SPOOL) tools/payload.escript
	$(call say,PAYLOAD,$(@D))
	$(Q)escript tools/payload.escript command $(COMPILED) $(<D) $(PAYLOAD_NIFS) $(SPOOL) $(@D)
$(addprefix $(PAYLOAD_DIR)/,survey boot_head boot_tail): $(PAYLOAD_DIR)/build ;

$(PAYLOAD_DIR)/data.o: c_src/node/payload_data.S $(PAYLOAD_FILES) $(PAYLOAD_NIFS) $(SPOOL) $(FLAGS_STAMP)
	$(Q)$(CC) -c -o $@ -DBUILD='"$(@D)/build"' -DSURVEY='"$(@D)/survey"' -DBOOT_HEAD='"$(@D)/boot_head"' -DBOOT_TAIL='"$(@D)/boot_tail"' \
		-DNIF='"$(firstword $(PAYLOAD_NIFS))"' -DSPOOL='"$(SPOOL)"' $<

$(PAYLOAD): $(PAYLOAD_DIR)/data.o
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcsD $@ $^
