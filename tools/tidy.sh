#!/bin/sh
# clang-tidy on one file, for tools/lint.sh: silent unless it has a finding of
# ours. LINT_CPPFLAGS are the compiler's flags.
set -u
file=$1
checks=
# The analyzer takes most of the time: not for tests, which run under the
# sanitizers; and what uthash's macros do with their pointers is beyond it.
case $file in test/*|bench/*) checks="--checks=-clang-analyzer-*" ;; esac
if grep -q '<uthash.h>' "$file"; then checks="--checks=-clang-analyzer-*"; fi

# shellcheck disable=SC2086  # words
out=$(clang-tidy --quiet $checks "$file" -- -std=c11 $LINT_CPPFLAGS 2>&1) && exit 0
# A finding inside a system header (xxhash is inlined) is not ours to mend.
printf '%s\n' "$out" | grep ' error: ' | grep -qv '^/usr/' || exit 0
printf '%s\n' "$out" | grep -vE '^[0-9]+ warnings? |^Suppressed |^Use -header-filter'
exit 1
