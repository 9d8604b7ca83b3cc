# make lint and make format.

LINT_FLAGS = -D_GNU_SOURCE -Ic_src -isystem $(NIF_INC) -isystem $(EI_INC)

.PHONY: lint format
lint:				## formatting, static checks, layers, headers, NIF symbols, man pages, spelling
	@tools/deps.sh lint
	@$(MAKE) $(NIF)
	@LINT_CPPFLAGS='$(LINT_FLAGS)' LINT_NIF='$(NIF)' tools/lint.sh

format:				## rewrite the C sources as .clang-format says
	@find c_src test fuzz bench demo -name '*.[ch]' 2>/dev/null | xargs -r clang-format -i
