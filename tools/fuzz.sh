#!/bin/sh
# Fuzzes one target with clang's libFuzzer; `make fuzz T=log SECS=60`. The target
# `sessions' compares random scripts with OTP 27 instead (tools/fuzz-sessions.sh).
#
# Inputs that reach new code go to build/fuzz/TARGET/found, and inputs that crash
# to build/fuzz/TARGET/crash-*. Minimise those that are worth keeping, and add
# them to fuzz/corpus/TARGET.
set -eu
cd "$(dirname "$0")/.."
target=$1 secs=$2
[ "$target" != sessions ] || exec tools/fuzz-sessions.sh "$secs"
targets=$(find fuzz -name '*_fuzz.c' 2>/dev/null | sed 's/.*\///; s/_fuzz\.c$//' | sort | tr '\n' ' ')
if [ -z "$target" ] || [ ! -e "fuzz/${target}_fuzz.c" ]; then
	echo "usage: make fuzz T=TARGET [SECS=60]; targets: ${targets}sessions" >&2
	exit 2
fi
tools/deps.sh lint

# Objects compiled by clang have a build directory of their own. MODE=asan
# gives the flags, and fuzzer-no-link the coverage that guides the fuzzer.
dir=build/fuzz/$target
mkdir -p "$dir/found" "fuzz/corpus/$target"
unset MAKEFLAGS MFLAGS MAKELEVEL
make CC=clang MODE=asan BUILD=build/fuzz CFLAGS='-fsanitize=fuzzer-no-link' \
	FUZZ_LDFLAGS='-fsanitize=fuzzer' "build/fuzz/fuzz/${target}_fuzz"

dict=
[ ! -e "fuzz/dict/$target.dict" ] || dict=-dict=fuzz/dict/$target.dict
# shellcheck disable=SC2086  # a word or none
exec "build/fuzz/fuzz/${target}_fuzz" -max_total_time="$secs" -max_len=65536 \
	-timeout=10 -rss_limit_mb=2048 -print_final_stats=1 $dict \
	-artifact_prefix="$dir/" "$dir/found" "fuzz/corpus/$target"
