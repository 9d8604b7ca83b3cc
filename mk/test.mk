# Test, fuzz and bench programs. test/run decides what runs, and counts.

# A program named after a room (ring_producer_test.c) is linked with that room
# and those below it, so that a room that does not build affects only its own
# tests. A program with another name is linked with all rooms.
room_of = $(filter $(ROOMS),$(firstword $(subst _, ,$(notdir $(1)))))
test_libs = $(if $(room_of),$(call libs_of,$(room_of)) $(if $(filter node cli sql export,$(room_of)),$(PAYLOAD)),$(foreach r,$(filter-out engine nif pushed sql export,$(ROOMS)),$(call lib_of,$(r))))

UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard test/unit/*_test.c))
STRESS_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard test/stress/*.c))
FUZZ_REPLAYS := $(if $(wildcard fuzz/replay.c),$(patsubst fuzz/%_fuzz.c,$(BUILD)/fuzz/%_replay,$(wildcard fuzz/*_fuzz.c)))

# The other .c files of test/unit are helpers, linked into each unit test.
UNIT_HELP := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %_test.c,$(wildcard test/unit/*.c)))

$(BUILD)/obj/test/%.o: CPPFLAGS_ROOM = -Itest $(if $(findstring /nif_,$@),-isystem $(NIF_INC))$(if $(findstring /node_,$@),-isystem $(EI_INC))$(if $(findstring /cnode_,$@),-Iinclude -isystem $(EI_INC))
# Unit tests themselves take half the time to compile without -O2. What they test
# is in the archives of the rooms.
UNIT_CFLAGS := $(if $(filter release,$(MODE)),-Og)
$(BUILD)/obj/test/unit/%.o: CFLAGS_ROOM = $(UNIT_CFLAGS)
$(BUILD)/obj/fuzz/%.o: CPPFLAGS_ROOM = -Ifuzz$(if $(findstring /node_,$@)$(findstring /cnode_,$@), -isystem $(EI_INC))

define test_program
$(BUILD)/$(1): $(BUILD)/obj/$(1).o $(2) $(call test_libs,$(1)) $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(link) -lcmocka $$(LIBS) -lm
endef
$(foreach t,$(UNIT_TESTS:$(BUILD)/%=%),$(eval $(call test_program,$(t),$(UNIT_HELP))))
$(foreach t,$(STRESS_TESTS:$(BUILD)/%=%),$(eval $(call test_program,$(t),)))

# Two programs for each fuzz target: TARGET_fuzz with libFuzzer, TARGET_replay for
# files. tools/fuzz.sh gives the compiler and the flags. FUZZ_LDFLAGS, which adds
# libFuzzer's main(), is only for TARGET_fuzz.
define replay_program
$(BUILD)/fuzz/$(1)_fuzz: $(BUILD)/obj/fuzz/$(1)_fuzz.o $(call test_libs,$(1)) $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(link) $$(FUZZ_LDFLAGS) $$(LIBS) -lm
$(BUILD)/fuzz/$(1)_replay: $(BUILD)/obj/fuzz/$(1)_fuzz.o $(BUILD)/obj/fuzz/replay.o $(call test_libs,$(1)) $(TESTPOINT) $(FLAGS_STAMP)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(link) $$(LIBS) -lm
endef
$(foreach t,$(patsubst fuzz/%_fuzz.c,%,$(wildcard fuzz/*_fuzz.c)),$(eval $(call replay_program,$(t))))

# Common Test suites and their helpers are compiled into this directory and not
# beside their sources, so that two runs do not disturb each other.
CT_DIR := $(BUILD)/ct
CT_SOURCES := $(wildcard test/ct/*.erl)
CT_STAMP := $(BUILD)/ct.stamp
CT_BEAMS := $(patsubst test/ct/%.erl,$(CT_DIR)/%.beam,$(CT_SOURCES))
CT_DATA := $(patsubst test/ct/%,$(CT_DIR)/%,$(wildcard test/ct/*_SUITE_data))

$(CT_BEAMS): $(CT_STAMP) ;
$(CT_STAMP): $(CT_SOURCES) $(wildcard include/*.hrl test/ct/*.hrl) $(call missing,$(CT_BEAMS))
	@mkdir -p $(CT_DIR)
	$(call say,ERLC,$(CT_DIR))
	$(Q)$(ERLC) +debug_info +nowarn_export_all -I include -I test/ct -pa $(EBIN) -o $(CT_DIR) $(call outdated,$?,$(CT_SOURCES),$(CT_BEAMS))
	@touch $@
$(CT_DIR)/%_SUITE_data: test/ct/%_SUITE_data
	@mkdir -p $(@D)
	@ln -sfn $(CURDIR)/$< $@

# Programs that suites run are beside the suites, because `make matrix` copies
# that directory.
CT_TOOLS := $(patsubst test/tools/%.c,$(CT_DIR)/%,$(wildcard test/tools/*.c))

define ct_tool
$(CT_DIR)/$(1): $(BUILD)/obj/test/tools/$(1).o $(call test_libs,$(1)) $(FLAGS_STAMP)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(link) $$(LIBS) -lm
endef
$(foreach t,$(CT_TOOLS:$(CT_DIR)/%=%),$(eval $(call ct_tool,$(t))))

# NIFs that suites load, linked with the rooms of the NIF. They are for tests
# only, so they may call any function of libc and other libraries.
CT_NIFS := $(patsubst test/nif/%.c,$(CT_DIR)/%.so,$(wildcard test/nif/*.c))

$(BUILD)/pic/test/nif/%.o: CPPFLAGS_ROOM = -isystem $(NIF_INC)
$(CT_DIR)/%.so: $(BUILD)/pic/test/nif/%.o $(call pics_of,nif) $(FLAGS_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(link) -shared -lgmp -lm

.PHONY: unit-programs stress-programs fuzz-programs ct-beams check slow sanitize soak bench bench-real fuzz matrix cover
unit-programs: $(UNIT_TESTS)
stress-programs: $(STRESS_TESTS)
fuzz-programs: $(FUZZ_REPLAYS)
ct-beams: $(CT_BEAMS) $(CT_DATA) $(CT_TOOLS) $(CT_NIFS)

check:				## install what is missing, build, run the tests; last line: N passed, N failed
	@tools/deps.sh check
	@$(MAKE) -k all ct-beams || :
	@test/run

slow:				## run the long tests that `make check` leaves out, once
	@tools/deps.sh check
	@$(MAKE) -k all ct-beams || :
	@test/run slow

sanitize:			## run unit tests, fuzz inputs and suites under ASan and UBSan, stress programs under TSan
	@tools/deps.sh check
	@test/run $(or $(ONLY),unit-asan fuzz ct-asan stress-tsan)

#: TIME=3600 SEED=7   with `make soak`: the duration in seconds; the seed of random tests
soak:				## run floods, kills, random runs, ASan and TSan for TIME seconds (300)
	@tools/deps.sh soak
	@$(if $(TIME),TIME='$(TIME)') $(if $(SEED),SEED='$(SEED)') test/soak

#: JOBS=N   with `make check`, `make sanitize`, `make soak`: how many tests run at a time
#: ONLY='unit:ring ct:inviso_SUITE'   with `make check`: only these groups (ct cli unit stress) or tests
#: ONLY='unit-asan:ring fuzz'   with `make sanitize`: only these groups (unit-asan fuzz ct-asan stress-tsan) or tests
bench: all			## run the benchmarks, print the table, write build/bench.json
	@if test -x bench/run; then exec bench/run; else echo 'bench/run is not there' >&2; exit 1; fi

bench-real: all			## the throughput of a traced RabbitMQ in at most 5 minutes, into build/bench-real.json
	@bench/real/run

#: T=log SECS=60   with `make fuzz`: which target of fuzz/ (or `sessions`), for how long
SECS ?= 60
fuzz:				## fuzz one target (T=log) for SECS seconds
	@tools/fuzz.sh '$(T)' '$(SECS)'

matrix: all ct-beams		## run the Common Test suites on other OTP releases, in chroots
	@tools/matrix.sh

cover:				## line coverage of the unit tests, for each room
	@$(MAKE) MODE=cover unit-programs
	@tools/cover.sh
