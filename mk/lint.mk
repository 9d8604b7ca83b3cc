# make lint and make format.

LINT_FLAGS = -D_GNU_SOURCE -Ic_src -Iinclude -isystem $(NIF_INC) -isystem $(EI_INC)

# The call graphs for tools/check-stack, which only gcc can write.
CALLS = $(if $(findstring clang,$(CC)),,$(patsubst %.c,$(BUILD)/calls/%.ci,\
	$(foreach r,$(call below,pushed),$(call room_src,$(r)))))

.PHONY: lint format
lint:				## formatting, static checks, layers, headers, NIF symbols and stack, man pages, spelling
	@tools/deps.sh lint
	@$(MAKE) $(NIFS) $(CALLS) $(COMPILED_STAMP)
	@LINT_CPPFLAGS='$(LINT_FLAGS)' LINT_NIFS='$(NIFS)' LINT_CALLS='$(CALLS)' \
		LINT_BEAMS='$(COMPILED)' tools/lint.sh

format:				## rewrite the C sources as .clang-format says
	@find c_src test fuzz bench demo -name '*.[ch]' 2>/dev/null | xargs -r clang-format -i
