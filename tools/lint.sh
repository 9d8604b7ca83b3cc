#!/bin/sh
# The static checks; `make lint` calls this. Every check runs and prints its
# findings. The exit status is 0 if there are none.
#
#   tools/lint.sh [CHECK...]     only these checks, with the names that it prints
#
# LINT_CPPFLAGS, LINT_NIFS, LINT_CALLS and LINT_BEAMS come from the makefile.
set -u
cd "$(dirname "$0")/.." || exit 1
export LINT_CPPFLAGS="${LINT_CPPFLAGS:--D_GNU_SOURCE -Ic_src} -Itest -Ifuzz"

c_files() { # prints the C sources
	find c_src test fuzz bench demo -name '*.[ch]' -not -path '*/build/*' \
		2>/dev/null | LC_ALL=C sort
}

behaviours() { # prints the Erlang sources that define behaviours
	find src -name '*.erl' -exec grep -l '^-callback' {} + | LC_ALL=C sort
}

erl_sources() { # prints the Erlang sources of src/, behaviours first
	behaviours
	find src -name '*.erl' -exec grep -L '^-callback' {} + | LC_ALL=C sort
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

# clang-format and clang-tidy differ between releases, so Debian 12's release is
# required. With another release their checks are skipped, with status 77.
LLVM=14
pinned() { # PROGRAM
	case $("$1" --version 2>&1) in
	*"version $LLVM."*) ;;
	*) echo "not $1 $LLVM"; return 77 ;;
	esac
}

lint_format() {
	pinned clang-format || return
	c_files | xargs -r clang-format --dry-run -Werror && return
	echo 'not as .clang-format says; run make format'
	return 1
}

lint_tidy() {
	pinned clang-tidy || return
	# A program in the background ignores SIGINT, unless env restores it.
	c_files | grep '\.c$' |
	env --default-signal=INT,QUIT xargs -r -P "$(nproc)" -n 1 tools/tidy.sh
}

# Tests of the checks: clang-tidy must report the planted mistakes.
lint_planted() {
	pinned clang-tidy || return
	found=$(TIDY_NODES='' LINT_CPPFLAGS='' tools/tidy.sh tools/planted.c)
	for check in unix.Malloc err34-c suspicious-string-compare; do
		case $found in
		*"$check"*) ;;
		*) echo "clang-tidy no longer reports $check in tools/planted.c"; return 1 ;;
		esac
	done
}

# Checks c_src/LAYERS, and tests this check with planted mistakes.
lint_layers() {
	tools/check-layers || return
	planted_layers 'low:|high: low' '#include "low/l.h"' '' ||
		{ echo 'planted: what is right is refused'; return 1; }
	for layers in 'low: high|high: low' 'high: low|low:' 'low:' 'low:|high:' 'low:|mid:|high: low mid'; do
		if planted_layers "$layers" '#include "low/l.h"' ''; then
			echo "planted: $layers is let through"
			return 1
		fi
	done
	if planted_layers 'low:|high: low' '#include "low/l.h"' '#include "high/h.h"'; then
		echo 'planted: an upward include is let through'
		return 1
	fi
}

planted_layers() { # LAYERS-WITH-BARS HIGH-HEADER LOW-HEADER
	planted_dir=$(mktemp -d)
	mkdir -p "$planted_dir/c_src/low" "$planted_dir/c_src/high"
	echo "$1" | tr '|' '\n' >"$planted_dir/c_src/LAYERS"
	echo "$2" >"$planted_dir/c_src/high/h.h"
	echo "$3" >"$planted_dir/c_src/low/l.h"
	tools/check-layers "$planted_dir" >/dev/null 2>&1
	planted_status=$?
	rm -r "$planted_dir"
	return "$planted_status"
}

lint_rooms() {
	tools/check-rooms && tools/check-rooms --planted
}

lint_names() { tools/check-names; }

# One table of options: include/inviso_options.hrl and the manual must agree
# with it.
lint_options() { tools/options --check; }

# Limits the sizes: files to 1000 lines, C functions to 90, Erlang functions to
# 100. A larger file or function does more than one thing. A .inc file, which has
# the cases of one switch, has no limit.
lint_sizes() {
	bad_sizes=
	{ c_files; erl_sources; } | xargs -r wc -l | awk '$2 != "total" && $1 > 1000 {
		print $2 ": " $1 " lines, over 1000"; bad = 1 }
	END { exit bad }' || bad_sizes=1
	c_files | xargs -r awk "$LONG_C" || bad_sizes=1
	erl_sources | xargs -r awk "$LONG_ERL" || bad_sizes=1
	planted_sizes || bad_sizes=1
	[ -z "$bad_sizes" ]
}

LONG_C='
	FNR == 1 { begin = 0 }
	/^\{$/ { begin = FNR }
	/^\}/ && begin {
		if (FNR - begin > 90) {
			printf "%s:%d: a function of %d lines, over 90\n", FILENAME, begin, FNR - begin
			bad = 1
		}
		begin = 0
	}
	END { exit bad }'
# The full stop at the end of a comment does not end a function.
LONG_ERL='
	FNR == 1 { begin = 0 }
	/^[ \t]*%/ { next }
	/^[a-z]/ && !begin { begin = FNR }
	/\.[ \t]*(%.*)?$/ && begin {
		if (FNR - begin >= 100) {
			printf "%s:%d: a function of %d lines, over 100\n", FILENAME, begin, FNR - begin + 1
			bad = 1
		}
		begin = 0
	}
	END { exit bad }'

# Tests the limits: a function of the largest size passes, and a function with
# one more line is found.
planted_sizes() {
	if ! planted_c 90 | awk "$LONG_C" || ! planted_erl 100 | awk "$LONG_ERL"; then
		echo 'planted: a function that is short enough is refused'
		return 1
	fi
	if planted_c 91 | awk "$LONG_C" >/dev/null || planted_erl 101 | awk "$LONG_ERL" >/dev/null; then
		echo 'planted: a function that is too long is let through'
		return 1
	fi
}

planted_c() { # LINES after the first
	printf 'static int f(void)\n{\n'
	yes '	g();' | head -n "$(($1 - 1))"
	echo '}'
}

planted_erl() { # LINES
	printf 'f() ->\n    %%%% A comment.\n'
	yes '    g(),' | head -n "$(($1 - 3))"
	echo '    g().'
}

# Git treats a file with a NUL byte as binary, and does not show its changes.
lint_bytes() {
	git ls-files --eol -- . ':!fuzz/corpus' ':!test/frozen' ':!test/golden' |
	awk -F '\t' '$1 ~ /w\/-text/ { print $2 ": has a NUL"; bad = 1 } END { exit bad }'
}

lint_headers() {
	# shellcheck disable=SC2086  # flags
	tools/check-headers $LINT_CPPFLAGS
}

lint_nif() {
	bad_nif=
	for so in ${LINT_NIFS:-}; do
		tools/check-nif-symbols "$so" || bad_nif=1
	done
	[ -z "$bad_nif" ]
}

# Checks how much stack an event takes, with the call graphs of `make lint`.
lint_stack() {
	[ -n "${LINT_CALLS:-}" ] || { echo 'no call graphs; make lint with gcc has them'; return 77; }
	# shellcheck disable=SC2086  # names of files
	tools/check-stack $LINT_CALLS && tools/check-stack --planted "${CC:-gcc}"
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
	# Two checks are off: "expressions don't expand in single quotes", for
	# awk programs, and "unreachable", for functions whose names are in
	# variables.
	shell_files | xargs -r shellcheck -x -P SCRIPTDIR -e SC2016,SC2317
}

lint_erlang() {
	bad_erlang=
	tools/check-erlang || bad_erlang=1
	[ -n "$(find src -name '*.erl')" ] || return 0
	rm -rf build/lint/listings
	mkdir -p build/lint/listings
	# The listings of the sources, and warnings. Behaviours are compiled first, because
	# the compiler checks the callbacks of other modules with the beams of behaviours.
	#
	# The sources must not match on binaries: OTP 29's compiler makes
	# instructions for this that OTP 25 lacks (tools/erlc25). Use
	# binary:part/2, binary:decode_unsigned/1, ...
	set -- -I include -pa build/lint/listings -o build/lint/listings
	# shellcheck disable=SC2046  # names of modules
	erlc "$@" $(behaviours) &&
	erlc "$@" -S -Werror -Wall +warn_obsolete_guard $(erl_sources) || return 1
	for listing in build/lint/listings/*.S; do
		awk -v module="$(basename "$listing" .S)" '
		/^{function,/ { where = $0 }
		/bs_start_match/ { print module ": matches on a binary: " where; bad = 1 }
		END { exit bad }' "$listing" || bad_erlang=1
	done
	[ -z "$bad_erlang" ]
}

lint_dialyzer() {
	command -v dialyzer >/dev/null || { echo 'no dialyzer'; return 77; }
	LINT_BEAMS=${LINT_BEAMS:-build/release/beams}
	[ -d "$LINT_BEAMS" ] || { echo 'no beams; make lint has them'; return 77; }
	mkdir -p build/lint
	plt=build/lint/otp.plt
	[ -s "$plt" ] ||
		dialyzer --quiet --build_plt --output_plt "$plt" --apps erts \
			kernel stdlib runtime_tools >/dev/null || return 1
	dialyzer --quiet --plt "$plt" "$LINT_BEAMS"/*.beam
}

# Prints the result of a check, with its findings.
report() { # CHECK STATUS FINDINGS
	case $2 in
	0) printf '  ok      %s\n' "$1" ;;
	77) printf '  SKIPPED %s: %s\n' "$1" "$3" ;;
	*)
		printf '  FAILED  %s\n' "$1"
		printf '%s\n' "$3" | sed 's/^/          | /'
		bad=1
		;;
	esac
}

checks=${*:-layers rooms names options headers sizes bytes format erlang dialyzer shell spelling man nif stack planted tidy}
bad=0
# tidy takes the most time, and most other checks keep only one processor busy. So
# tidy runs beside them.
beside=
case " $checks " in
*' tidy '*)
	beside=$(mktemp)
	trap 'rm -f "$beside"' EXIT
	trap 'exit 1' HUP INT TERM
	lint_tidy >"$beside" 2>&1 &
	tidy=$!
	;;
esac
for check in $checks; do
	[ "$check" != tidy ] || continue
	out=$("lint_$check" 2>&1)
	report "$check" $? "$out"
done
if [ -n "$beside" ]; then
	wait "$tidy"
	report tidy $? "$(cat "$beside")"
fi
exit $bad
