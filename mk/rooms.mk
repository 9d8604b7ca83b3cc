# One archive for each room of c_src/, and the products made of them.

ROOMS := $(patsubst c_src/%/,%,$(sort $(dir $(wildcard c_src/*/*.c))))

# layer_ROOM is what c_src/LAYERS says; `below` is that room and all under it.
comma := ,
empty :=
space := $(empty) $(empty)
$(foreach l,$(shell sed -n 's/\#.*//; /:/{s/ *: */:=/; s/ /,/g; s/^/layer_/; p}' c_src/LAYERS),\
	$(eval $(subst $(comma),$(space),$(l))))
below = $(sort $(1) $(foreach r,$(layer_$(1)),$(call below,$(r))))

# A dependency (make priv) may be built where the command's libraries are
# missing: then it goes without the command, and says so. The spooler is linked
# with rooms that have files of the command's in them, which are left out too.
ifneq ($(filter priv,$(MAKECMDGOALS)),)
have_header = $(shell printf '\043include <%s>\n' $(1) | $(CC) -E -o /dev/null - 2>/dev/null && echo y)
NO_HEADERS := $(foreach h,uthash.h gmp.h,$(if $(call have_header,$(h)),,$(h)))
CLI_LACKS := $(strip $(NO_HEADERS) $(if $(wildcard $(EI_LIB)/libei.a),,libei.a))
LEFT_OUT := $(foreach h,$(NO_HEADERS),$(shell grep -l '<$(h)>' $(wildcard c_src/*/*.c)))
$(if $(CLI_LACKS),$(warning not building $(PRIV)/inviso, for want of: $(CLI_LACKS)))
endif

# Every room is compiled for programs and, position independent, for the NIF.
# The two files with a main() are in no archive, so that tests can link the rest.
MAINS := c_src/cli/main.c c_src/spool/main.c
room_src = $(filter-out $(MAINS) $(LEFT_OUT),$(wildcard c_src/$(1)/*.c))
room_obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(call room_src,$(1)))
room_pic = $(patsubst %.c,$(BUILD)/pic/%.o,$(call room_src,$(1)))
lib_of = $(BUILD)/lib/lib$(1).a
pic_of = $(BUILD)/lib/lib$(1).pic.a
# The archives of rooms $(1) and of all below them, those that have sources.
libs_of = $(foreach r,$(filter $(ROOMS),$(sort $(foreach m,$(1),$(call below,$(m))))),$(call lib_of,$(r)))
pics_of = $(foreach r,$(filter $(ROOMS),$(call below,$(1))),$(call pic_of,$(r)))

$(BUILD)/obj/c_src/nif/%.o $(BUILD)/obj/c_src/engine/%.o: CPPFLAGS_ROOM = -isystem $(NIF_INC)
$(BUILD)/pic/%.o: CPPFLAGS_ROOM = -isystem $(NIF_INC)
$(BUILD)/obj/c_src/node/%.o: CPPFLAGS_ROOM = -isystem $(EI_INC)

# No stack protector, no fortified copies: what the NIF calls is the VM and
# libc's plainest functions (tools/nif-symbols.allow).
NIF_CFLAGS := -DINV_IN_VM -fPIC -fvisibility=hidden -fno-semantic-interposition -fno-plt \
	-fno-stack-protector -U_FORTIFY_SOURCE
# The encoder's loops want their helpers inside them: 5 % of a call event.
ifeq ($(findstring clang,$(CC)),)
NIF_INLINE := -finline-limit=2000
endif

$(BUILD)/pic/%.o: PIC_ROOM = $(NIF_INLINE)
# What the NIF has of these is used when a filter is made, and not for events: it
# is small rather than fast, since it is pushed.
PIC_COLD := $(if $(filter release,$(MODE)),-Os)
$(foreach r,base term match,$(eval $(BUILD)/pic/c_src/$(r)/%.o: PIC_ROOM = $(PIC_COLD)))

compile = $(CC) $(CPPFLAGS_ALL) $(CPPFLAGS_ROOM) -MMD -MP $(CFLAGS_ALL)

$(BUILD)/obj/%.o: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(compile) -c -o $@ $<

$(BUILD)/pic/%.o: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,CC-PIC,$<)
	$(Q)$(compile) $(NIF_CFLAGS) $(PIC_ROOM) -c -o $@ $<

# The list of a room's sources, rewritten when it changes: an archive must
# forget the object of a source that is gone.
$(BUILD)/lib/%.list: FORCE
	@mkdir -p $(@D)
	@echo '$(sort $(call room_src,$*))' >$@.$$$$ && \
	if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv -f $@.$$$$ $@; fi

# `ar` keeps the members it has, hence the rm.
define room_rules
$(call lib_of,$(1)): $(call room_obj,$(1)) $(BUILD)/lib/$(1).list
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)ar rcsD $$@ $$(filter %.o,$$^)
$(call pic_of,$(1)): $(call room_pic,$(1)) $(BUILD)/lib/$(1).list
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)ar rcsD $$@ $$(filter %.o,$$^)
endef
$(foreach r,$(ROOMS),$(eval $(call room_rules,$(r))))

# In the modes with test points, what they call where a program does not say.
TESTPOINT := $(if $(findstring INV_TESTPOINTS,$(CFLAGS_$(MODE))),$(BUILD)/lib/libtestpoint.a)
$(BUILD)/lib/libtestpoint.a: $(BUILD)/pic/test/testpoint.o
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcsD $@ $^

link = $(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) \
	-Wl,--start-group $(filter %.a,$^) -Wl,--end-group
has_node = $(filter $(BUILD)/lib/libnode.a,$^)
# What a program that is linked with the archives in $^ needs besides.
LIBS = $(if $(filter %/liblog.a %/libspool.a %/libsink.a,$^),-lzstd) \
	$(if $(filter %/libmatch.a,$^),-lgmp -lm) \
	$(if $(has_node),$(EI_LIB)/libei.a)

# --- products ---------------------------------------------------------------

# What the command pushes to nodes: mk/payload.mk.
PAYLOAD := $(BUILD)/lib/libpayload.a
CLI_DEPS := $(if $(wildcard c_src/cli/main.c),$(BUILD)/obj/c_src/cli/main.o $(call libs_of,cli) $(PAYLOAD))
SPOOL_DEPS := $(if $(wildcard c_src/spool/main.c),$(BUILD)/obj/c_src/spool/main.o $(call libs_of,spool))
# A NIF is its room's objects and the rooms below it.
nif_deps = $(if $(filter $(1),$(ROOMS)),$(call room_pic,$(1)) \
	$(filter-out $(call pic_of,$(1)),$(call pics_of,$(1))))
NIF_DEPS := $(call nif_deps,nif)
ENGINE_DEPS := $(call nif_deps,engine)

CLI := $(if $(CLI_DEPS),$(PRIV)/inviso)
SPOOL := $(if $(SPOOL_DEPS),$(PRIV)/inviso_spool)
NIF := $(if $(NIF_DEPS),$(PRIV)/inviso_tracer.so)
ENGINE := $(if $(ENGINE_DEPS),$(PRIV)/inviso_engine.so)

.PHONY: c-products
c-products: $(CLI) $(SPOOL) $(NIF) $(ENGINE)

PRIV_PRODUCTS := $(NIF) $(ENGINE) $(SPOOL) $(if $(CLI_LACKS),,$(CLI))

$(PRIV)/inviso: $(CLI_DEPS) $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(link) $(LIBS)

# Static and stripped, so that it can be pushed to a slim machine; a sanitizer's
# run-time library cannot be linked so.
SPOOL_LDFLAGS := $(if $(filter release debug stress,$(MODE)),-static -s)
$(PRIV)/inviso_spool: $(SPOOL_DEPS) $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(link) $(SPOOL_LDFLAGS) $(LIBS)

# The enif_ functions come from the VM, so -z defs cannot watch over what is
# undefined: tools/check-nif-symbols does. A running node that has the old file
# mapped keeps it: ld unlinks what it replaces. Stripped, since it is pushed.
NIF_LDFLAGS := $(if $(filter release,$(MODE)),-s)
$(PRIV)/inviso_tracer.so: $(NIF_DEPS)
$(PRIV)/inviso_engine.so: $(ENGINE_DEPS)
$(NIF) $(ENGINE): $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(link) $(NIF_LDFLAGS) -shared -Wl,-z,now -Wl,-Bsymbolic
	$(if $(filter release,$(MODE)),$(Q)tools/check-nif-symbols $@)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
