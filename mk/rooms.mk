# One archive for each room of c_src/, and the products made of them.

ROOMS := $(patsubst c_src/%/,%,$(sort $(dir $(wildcard c_src/*/*.c))))

# layer_ROOM is the room's line of c_src/LAYERS; `below` is the room and all
# rooms under it.
comma := ,
empty :=
space := $(empty) $(empty)
$(foreach l,$(shell sed -n 's/\#.*//; /:/{s/ *: */:=/; s/ /,/g; s/^/layer_/; p}' c_src/LAYERS),\
	$(eval $(subst $(comma),$(space),$(l))))
below = $(sort $(1) $(foreach r,$(layer_$(1)),$(call below,$(r))))

# `make priv', for a project that depends on inviso, works without the command's
# libraries. Then it does not build the command, and prints a message. In rooms
# with which the spooler is linked, it leaves out files that need the libraries.
ifneq ($(filter priv,$(MAKECMDGOALS)),)
have_header = $(shell printf '\043include <%s>\n' $(1) | $(CC) -E -o /dev/null - 2>/dev/null && echo y)
NO_HEADERS := $(foreach h,uthash.h gmp.h openssl/ssl.h sqlite3.h curl/curl.h curses.h,$(if $(call have_header,$(h)),,$(h)))
CLI_LACKS := $(strip $(filter-out sqlite3.h curl/curl.h curses.h,$(NO_HEADERS)) $(if $(wildcard $(EI_LIB)/libei.a),,libei.a))
LEFT_OUT := $(foreach h,$(NO_HEADERS),$(shell grep -l '[</]$(h)[>"]' $(wildcard c_src/*/*.c)))
SQL_LACKS := $(strip $(CLI_LACKS) $(filter sqlite3.h,$(NO_HEADERS)))
EXPORT_LACKS := $(strip $(CLI_LACKS) $(filter curl/curl.h,$(NO_HEADERS)))
TOP_LACKS := $(strip $(CLI_LACKS) $(filter curses.h,$(NO_HEADERS)))
$(if $(CLI_LACKS),$(warning not building $(PRIV)/inviso, for want of: $(CLI_LACKS)))
$(if $(SQL_LACKS),$(warning not building $(PRIV)/inviso_sql, for want of: $(SQL_LACKS)))
$(if $(EXPORT_LACKS),$(warning not building $(PRIV)/inviso_export, for want of: $(EXPORT_LACKS)))
$(if $(TOP_LACKS),$(warning not building $(PRIV)/inviso_top, for want of: $(TOP_LACKS)))
endif

# Every room is compiled for programs and, position independent, for the NIF.
# The files with a main() are in no archive, so that tests can link the others.
MAINS := c_src/cli/main.c c_src/spool/main.c c_src/sql/main.c c_src/export/main.c c_src/top/main.c
room_src = $(filter-out $(MAINS) $(LEFT_OUT),$(wildcard c_src/$(1)/*.c))
room_obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(call room_src,$(1)))
room_pic = $(patsubst %.c,$(BUILD)/pic/%.o,$(call room_src,$(1)))
lib_of = $(if $(filter $(1),$(SAME_IN_RELEASE)),build/release,$(BUILD))/lib/lib$(1).a
pic_of = $(BUILD)/lib/lib$(1).pic.a
# The archives of the rooms $(1) and of all rooms below them that have sources.
libs_of = $(foreach r,$(filter $(ROOMS),$(sort $(foreach m,$(1),$(call below,$(m))))),$(call lib_of,$(r)))
pics_of = $(foreach r,$(filter $(ROOMS),$(call below,$(1))),$(call pic_of,$(r)))

$(BUILD)/obj/c_src/nif/%.o $(BUILD)/obj/c_src/engine/%.o $(BUILD)/obj/c_src/pushed/%.o: CPPFLAGS_ROOM = -isystem $(NIF_INC)
$(BUILD)/pic/%.o $(BUILD)/calls/%.ci: CPPFLAGS_ROOM = -isystem $(NIF_INC)
$(BUILD)/obj/c_src/node/%.o: CPPFLAGS_ROOM = -isystem $(EI_INC)
$(BUILD)/obj/c_src/cnode/%.o $(BUILD)/pic/c_src/cnode/%.o: CPPFLAGS_ROOM = -Iinclude -isystem $(EI_INC)

# Without stack protector and fortified copies the NIF calls only the VM and
# the simplest functions of libc (tools/nif-symbols.allow).
NIF_CFLAGS := -DINV_IN_VM -fPIC -fvisibility=hidden -fno-semantic-interposition -fno-plt \
	-fno-stack-protector -U_FORTIFY_SOURCE
# The encoder's loops are faster with inlined helpers: 5 % of a call event.
ifeq ($(findstring clang,$(CC)),)
NIF_INLINE := -finline-limit=2000
endif
# Whether an event's functions start at the start of a cache line changes a call
# event by 4 %: more than most other changes, and differently in each build.
NIF_INLINE += -falign-functions=64

$(BUILD)/pic/%.o $(BUILD)/calls/%.ci: PIC_ROOM = $(NIF_INLINE)
# The NIF uses these rooms when a filter is made, and not for events. So they are
# compiled for size: the NIF is pushed over the network.
PIC_COLD := $(if $(filter release,$(MODE)),-Os)
$(foreach r,base term match,$(eval $(BUILD)/pic/c_src/$(r)/%.o $(BUILD)/calls/c_src/$(r)/%.ci: PIC_ROOM = $(PIC_COLD)))
# But the rules of redaction are applied to events, so their code is compiled for
# speed.
$(BUILD)/pic/c_src/match/redact.o $(BUILD)/calls/c_src/match/redact.ci: PIC_ROOM = $(NIF_INLINE)

# The files through which every event of a merge passes are optimized together
# when the command is linked: merges to text and JSON take 4 to 8 % less time than
# without it, and merges to Parquet 3 %. All other files are left out: with whole
# rooms a link took twice as long, and merges were no faster. Other programs are
# linked with the same objects without it: inviso_sql spends most of its time in
# SQLite.
# The path of an event needs large functions inlined. These limits allow the program
# to grow to 105,000 instructions of gcc; with 250,000 a link took twice as long, and
# merges were no faster. Only in the rooms log and sink are the largest functions
# inlined: a link takes 25 % less CPU time than with the same limit in all rooms, and
# a merge to text executes 2 % fewer instructions.
HOT_LIMITS := 200 800
HOT_LIMIT = $(firstword $(HOT_LIMITS))
HOT_INLINE = -finline-limit=$(HOT_LIMIT) --param inline-unit-growth=5 \
	--param large-unit-insns=100000
HOT := base/buf base/json base/utf8 \
	$(addprefix term/,cursor cursor_packed print print_number print_text simple text_atom text_binary text_number chars dict) \
	$(addprefix log/,reader stream packet record event item merge names clock) \
	$(addprefix flow/,flow calls process mfa seq seq_packed requests order) \
	$(addprefix sink/,sink output text text_mfa text_name text_result timefmt shape json json_cache json_call json_process json_cause duration)
LINK_LTO := -fno-lto
ifeq ($(MODE)$(findstring clang,$(CC)),release)
$(patsubst %,$(BUILD)/obj/c_src/%.o,$(HOT)): LTO = -flto -ffat-lto-objects $(HOT_INLINE)
$(BUILD)/obj/c_src/log/%.o $(BUILD)/obj/c_src/sink/%.o: HOT_LIMIT = $(lastword $(HOT_LIMITS))
# Across files gcc warns of variables that are initialized if there is no error.
$(PRIV)/inviso: private LINK_LTO = -flto=auto -Wno-maybe-uninitialized
endif

# The files that become part of a program (c_src/report/page.c).
$(BUILD)/obj/c_src/report/page.o: $(wildcard c_src/report/page*.html c_src/report/page*.css c_src/report/page*.js)

compile = $(CC) $(CPPFLAGS_ALL) $(CPPFLAGS_ROOM) -MMD -MP $(CFLAGS_ALL) $(CFLAGS_ROOM)

$(BUILD)/obj/%.o: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(compile) $(LTO) -c -o $@ $<

$(BUILD)/pic/%.o: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,CC-PIC,$<)
	$(Q)$(compile) $(NIF_CFLAGS) $(PIC_ROOM) -c -o $@ $<

# Calls and frames of the code that runs in the VM, compiled as for the NIF, for
# tools/check-stack. ccache does not keep this file.
$(BUILD)/calls/%.ci: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,CALLS,$<)
	$(Q)CCACHE_DISABLE=1 $(compile) $(NIF_CFLAGS) $(PIC_ROOM) -MT $@ -fcallgraph-info=su -c -o $(@:.ci=.o) $<

# The release has no test points, and MODE=stress differs from it in nothing else.
# So stress programs are linked with the release's archives of rooms without test
# points. A test point in a header would be missing there.
ifeq ($(MODE),stress)
rooms_of = $(sort $(notdir $(patsubst %/,%,$(dir $(1)))))
$(if $(filter-out base,$(call rooms_of,$(shell grep -lw INV_TESTPOINT c_src/*/*.h))),$(error a header has a test point))
STRESS_ROOMS := $(sort $(foreach t,$(wildcard test/stress/*.c),$(call below,$(firstword $(subst _, ,$(notdir $(t)))))))
SAME_IN_RELEASE := $(filter-out $(call rooms_of,$(shell grep -lw INV_TESTPOINT c_src/*/*.c)),$(filter $(ROOMS),$(STRESS_ROOMS)))
RELEASE_LIBS := $(foreach r,$(SAME_IN_RELEASE),$(call lib_of,$(r)))
$(RELEASE_LIBS) &: FORCE
	$(Q)$(MAKE) MODE=release $(RELEASE_LIBS)
endif

# The list of a room's sources is rewritten if it changes, because an archive
# must lose the object of a removed source.
$(BUILD)/lib/%.list: FORCE
	@mkdir -p $(@D)
	@echo '$(sort $(call room_src,$*))' >$@.$$$$ && \
	if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv -f $@.$$$$ $@; fi

# `ar` keeps the members of an existing archive, so it is removed first.
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
$(foreach r,$(filter-out $(SAME_IN_RELEASE),$(ROOMS)),$(eval $(call room_rules,$(r))))

# In the modes with test points: an empty implementation, for programs that have
# no implementation of their own.
TESTPOINT := $(if $(findstring INV_TESTPOINTS,$(CFLAGS_$(MODE))),$(BUILD)/lib/libtestpoint.a)
$(BUILD)/lib/libtestpoint.a: $(BUILD)/pic/test/testpoint.o
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcsD $@ $^

link = $(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LINK_LTO) -o $@ $(filter %.o,$^) \
	-Wl,--start-group $(filter %.a,$^) -Wl,--end-group
has_ei = $(filter %/libnode.a %/libcnode.a,$^)
# Further libraries for a program that is linked with the archives in $^.
LIBS = $(if $(filter %/liblog.a %/libspool.a %/libsink.a %/libparquet.a,$^),-lzstd) \
	$(if $(filter %/libmatch.a,$^),-lgmp -lm) \
	$(if $(has_ei),$(EI_LIB)/libei.a) \
	$(if $(filter %/libcli.a %/libsink.a,$^),-lz) \
	$(if $(filter %/libsql.a,$^),-lsqlite3) \
	$(if $(filter %/libexport.a,$^),-lcurl) \
	$(if $(filter %/libtop.a,$^),-lncursesw -ltinfo)

# --- products ---------------------------------------------------------------

# What the command pushes to nodes: mk/payload.mk.
PAYLOAD := $(BUILD)/lib/libpayload.a
PUSHED := $(PRIV)/pushed/modules
CLI_DEPS := $(if $(wildcard c_src/cli/main.c),$(BUILD)/obj/c_src/cli/main.o $(call libs_of,cli) $(PAYLOAD))
SPOOL_DEPS := $(if $(wildcard c_src/spool/main.c),$(BUILD)/obj/c_src/spool/main.o $(call libs_of,spool))
# A NIF is linked from its room's objects and the rooms below it.
nif_deps = $(if $(filter $(1),$(ROOMS)),$(call room_pic,$(1)) \
	$(filter-out $(call pic_of,$(1)),$(call pics_of,$(1))))
NIF_DEPS := $(call nif_deps,nif)
ENGINE_DEPS := $(call nif_deps,engine)
PUSHED_NIF_DEPS := $(call nif_deps,pushed)

# Helper programs are linked from the command's rooms and one of their own, for
# what needs a library that the command itself shall not load
# (docs/decisions/0525-helper-programs.md).
EXPORT_DEPS := $(BUILD)/obj/c_src/export/main.o $(call libs_of,export) $(PAYLOAD)
SQL_DEPS := $(BUILD)/obj/c_src/sql/main.o $(call libs_of,sql) $(PAYLOAD)
TOP_DEPS := $(BUILD)/obj/c_src/top/main.o $(call libs_of,top) $(PAYLOAD)

CLI := $(if $(CLI_DEPS),$(PRIV)/inviso)
HELPERS := $(PRIV)/inviso_sql $(PRIV)/inviso_export $(PRIV)/inviso_top
SPOOL := $(if $(SPOOL_DEPS),$(PRIV)/inviso_spool)
NIF := $(if $(NIF_DEPS),$(PRIV)/inviso_tracer.so)
ENGINE := $(if $(ENGINE_DEPS),$(PRIV)/inviso_engine.so)
PUSHED_NIF := $(if $(PUSHED_NIF_DEPS),$(PRIV)/inviso_pushed.so)
NIFS := $(NIF) $(ENGINE) $(PUSHED_NIF)

.PHONY: c-products
c-products: $(CLI) $(HELPERS) $(SPOOL) $(NIFS) $(PUSHED)

PRIV_PRODUCTS := $(NIFS) $(SPOOL) $(PUSHED) $(if $(CLI_LACKS),,$(CLI)) $(if $(SQL_LACKS),,$(PRIV)/inviso_sql) \
	$(if $(EXPORT_LACKS),,$(PRIV)/inviso_export) \
	$(if $(TOP_LACKS),,$(PRIV)/inviso_top)

$(PRIV)/inviso: $(CLI_DEPS)
$(PRIV)/inviso_sql: $(SQL_DEPS)
$(PRIV)/inviso_export: $(EXPORT_DEPS)
$(PRIV)/inviso_top: $(TOP_DEPS)
$(CLI) $(HELPERS): $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(link) $(LIBS)

# The spooler is static and stripped, because it is pushed, also to machines
# with few libraries. A sanitizer's run-time library cannot be linked
# statically.
SPOOL_LDFLAGS := $(if $(filter release debug stress,$(MODE)),-static -s)
$(PRIV)/inviso_spool: $(SPOOL_DEPS) $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(link) $(SPOOL_LDFLAGS) $(LIBS)

# The VM provides the enif_ functions, so -z defs cannot check undefined
# symbols; tools/check-nif-symbols does. A running node keeps its mapping of
# the old file, because ld unlinks the file that it replaces. The NIF is
# stripped, because it is pushed.
NIF_LDFLAGS := $(if $(filter release,$(MODE)),-s)
$(PRIV)/inviso_tracer.so: $(NIF_DEPS)
$(PRIV)/inviso_engine.so: $(ENGINE_DEPS)
$(PRIV)/inviso_pushed.so: $(PUSHED_NIF_DEPS)
$(NIFS): $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(link) $(NIF_LDFLAGS) -shared -Wl,-z,now -Wl,-Bsymbolic
	$(if $(filter release,$(MODE)),$(Q)tools/check-nif-symbols $@)

# The library for C nodes: one object, which exports only the functions of its
# header. The program that uses it is linked with libei and libzstd.
CNODE_LIB := $(if $(CLI_LACKS),,$(BUILD)/lib/libinviso_cnode.a)
c-products: $(CNODE_LIB)

$(BUILD)/lib/libinviso_cnode.o: $(call room_obj,cnode) $(filter-out %/libcnode.a,$(call libs_of,cnode)) $(FLAGS_STAMP)
	$(Q)$(CC) -r -nostdlib -fno-lto -o $@.all $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group
	$(Q)objcopy --wildcard --keep-global-symbol='inviso_cnode_*' \
		-R '.gnu.lto_*' -R '.gnu.debuglto_*' $@.all $@
	@rm -f $@.all

$(BUILD)/lib/libinviso_cnode.a: $(BUILD)/lib/libinviso_cnode.o
	$(call say,AR,$@)
	@rm -f $@
	$(Q)ar rcsD $@ $<

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
