# make lint and make format.

.PHONY: lint format
lint:				## formatting, static checks, layers, headers, NIF symbols, man pages, spelling
	@tools/deps.sh lint
	@$(MAKE) $(NIF)
	@tools/lint.sh

format:				## rewrite the C sources as .clang-format says
	@find c_src test fuzz bench -name '*.[ch]' 2>/dev/null | xargs -r clang-format -i
