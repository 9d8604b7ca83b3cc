#!/bin/sh
# The static checks; `make lint` calls this. Every check runs, each says what
# it found, and the exit status tells whether all were content.
#
#   tools/lint.sh [CHECK...]     names as printed
#
# LINT_CPPFLAGS and LINT_NIF come from the makefile.
set -u
cd "$(dirname "$0")/.." || exit 1
export LINT_CPPFLAGS="${LINT_CPPFLAGS:--D_GNU_SOURCE -Ic_src} -Itest -Ifuzz"

c_files() { # the C sources under these directories that exist
	find c_src test fuzz bench demo -name '*.[ch]' -not -path '*/build/*' \
		2>/dev/null | LC_ALL=C sort
}

erl_sources() { # those of the application
	find src -name '*.erl' | LC_ALL=C sort
}

shell_files() {
	find tools test bench demo .ci -type f -not -name '*.[ch]' 2>/dev/null |
	LC_ALL=C sort |
	while read -r file; do
		case $(head -c 64 "$file" | head -n 1 | tr -d '\0') in
		'#!'*/sh|'#!'*/sh\ *|'#!'*bash*) echo "$file" ;;
		esac
	done
}

# Newer releases of these two format and find other things: what is pinned is
# Debian 12's. Elsewhere their checks are skipped, which is exit status 77.
LLVM=14
pinned() { # PROGRAM
	case $("$1" --version 2>&1) in
	*"version $LLVM."*) ;;
	*) echo "not $1 $LLVM"; return 77 ;;
	esac
}

lint_format() {
	pinned clang-format || return
	c_files | {
		ugly=0
		while read -r file; do
			clang-format "$file" | cmp -s - "$file" && continue
			echo "$file: not as .clang-format says; run make format"
			ugly=1
		done
		return "$ugly"
	}
}

lint_tidy() {
	pinned clang-tidy || return
	c_files | grep '\.c$' | xargs -r -P "$(nproc)" -n 1 tools/tidy.sh
}

# The checks are checked: clang-tidy must report what is planted.
lint_planted() {
	pinned clang-tidy || return
	found=$(clang-tidy --quiet tools/planted.c -- -std=c11 2>/dev/null)
	for check in unix.Malloc err34-c suspicious-string-compare; do
		case $found in
		*"$check"*) ;;
		*) echo "clang-tidy no longer reports $check in tools/planted.c"; return 1 ;;
		esac
	done
}

lint_layers() { tools/check-layers; }

lint_names() { tools/check-names; }

# A file this long holds two nouns, a function this long does two things. (A .inc
# file has the cases of one switch.)
lint_sizes() {
	bad_sizes=
	{ c_files; erl_sources; } | xargs -r wc -l | awk '$2 != "total" && $1 > 1000 {
		print $2 ": " $1 " lines, over 1000"; bad = 1 }
	END { exit bad }' || bad_sizes=1
	find c_src -name '*.c' -exec awk '
	FNR == 1 { begin = 0 }
	/^\{$/ { begin = FNR }
	/^\}/ && begin {
		if (FNR - begin > 90) {
			printf "%s:%d: a function of %d lines, over 90\n", FILENAME, begin, FNR - begin
			bad = 1
		}
		begin = 0
	}
	END { exit bad }' {} + || bad_sizes=1
	erl_sources | xargs -r awk '
	FNR == 1 { begin = 0 }
	/^[a-z]/ && !begin { begin = FNR }
	/\.[ \t]*(%.*)?$/ && begin {
		if (FNR - begin >= 100) {
			printf "%s:%d: a function of %d lines, over 100\n", FILENAME, begin, FNR - begin + 1
			bad = 1
		}
		begin = 0
	}
	END { exit bad }' || bad_sizes=1
	[ -z "$bad_sizes" ]
}

lint_headers() {
	# shellcheck disable=SC2086  # flags
	tools/check-headers $LINT_CPPFLAGS
}

lint_nif() {
	[ -n "${LINT_NIF:-}" ] || return 0
	tools/check-nif-symbols "$LINT_NIF"
}

lint_man() {
	[ -d docs/man ] || return 0
	find docs/man -name '*.[1-8]' -exec mandoc -T lint -W warning {} + &&
	tools/check-man
}

lint_spelling() {
	git ls-files -z -- . ':!LICENSE' ':!fuzz/corpus' ':!test/frozen' ':!test/golden' |
	xargs -0 -r codespell --ignore-words tools/spelling.allow --check-filenames
}

lint_shell() {
	# Not: "expressions don't expand in single quotes" (awk programs), and
	# "unreachable" (functions called by a name in a variable).
	shell_files | xargs -r shellcheck -x -P SCRIPTDIR -e SC2016,SC2317
}

lint_erlang() {
	bad_erlang=
	tools/check-erlang || bad_erlang=1
	[ -n "$(find src -name '*.erl')" ] || return 0
	rm -rf build/lint/listings
	mkdir -p build/lint/listings
	# shellcheck disable=SC2046  # names of modules
	erlc -Werror -Wall +warn_obsolete_guard -I include -o build/lint/listings $(erl_sources) || return 1
	# For patterns on binaries OTP 29's compiler has only instructions that 25
	# lacks (tools/erlc25): use binary:part/2, binary:decode_unsigned/1, ...
	# shellcheck disable=SC2046  # names of modules
	erlc -S -I include -o build/lint/listings $(erl_sources)
	for listing in build/lint/listings/*.S; do
		awk -v module="$(basename "$listing" .S)" '
		/^{function,/ { where = $0 }
		/bs_start_match/ { print module ": matches on a binary: " where; bad = 1 }
		END { exit bad }' "$listing" || bad_erlang=1
	done
	[ -z "$bad_erlang" ]
}

# The module trace of OTP 27 is unknown here.
lint_dialyzer() {
	command -v dialyzer >/dev/null || { echo 'no dialyzer'; return 77; }
	[ -n "$(find src -name '*.erl')" ] || return 0
	mkdir -p build/lint/dialyzed
	plt=build/lint/otp.plt
	[ -s "$plt" ] ||
		dialyzer --quiet --build_plt --output_plt "$plt" --apps erts \
			kernel stdlib runtime_tools >/dev/null || return 1
	# shellcheck disable=SC2046  # names of modules
	erlc +debug_info -I include -o build/lint/dialyzed $(erl_sources) || return 1
	dialyzer --quiet --plt "$plt" build/lint/dialyzed/*.beam
}

checks=${*:-layers names headers sizes format erlang dialyzer shell spelling man nif planted tidy}
bad=0
for check in $checks; do
	out=$("lint_$check" 2>&1)
	case $? in
	0) printf '  ok      %s\n' "$check" ;;
	77) printf '  SKIPPED %s: %s\n' "$check" "$out" ;;
	*)
		printf '  FAILED  %s\n' "$check"
		printf '%s\n' "$out" | sed 's/^/          | /'
		bad=1
		;;
	esac
done
exit $bad
