#!/bin/sh
# Runs clang-tidy on one file, for tools/lint.sh. Prints nothing unless there is
# a finding in this project's code. LINT_CPPFLAGS are the compiler's flags.
#
# TIDY_NODES    how many states the analyzer visits in a function (40000). The
#		analyzer's own default, 225000, takes about four times as long. Use
#		it before a release: TIDY_NODES=225000 tools/lint.sh tidy
set -u
file=$1
checks=
# The analyzer takes most of the time. It is off for tests, which run under the
# sanitizers, and for files with uthash, whose macros cause false findings.
case $file in test/*|bench/*) checks="--checks=-clang-analyzer-*" ;; esac
if grep -q 'uthash\.h[>"]' "$file"; then checks="--checks=-clang-analyzer-*"; fi

# shellcheck disable=SC2086  # words
out=$(clang-tidy --quiet $checks "$file" -- -std=c11 $LINT_CPPFLAGS \
	-Xclang -analyzer-config -Xclang max-nodes="${TIDY_NODES:-40000}" 2>&1) && exit 0
# A finding inside a system header (xxhash is inlined) cannot be fixed here.
printf '%s\n' "$out" | grep ' error: ' | grep -qv '^/usr/' || exit 0
printf '%s\n' "$out" | grep -vE '^[0-9]+ warnings? |^Suppressed |^Use -header-filter'
exit 1
