#!/bin/sh
# Plays random scripts of trace sessions (test/ct/inviso_sessions_gen.erl) with
# our sessions here, and with OTP 27's own in a chroot, and tells what differs,
# made small. `make fuzz T=sessions SECS=60` calls this.
#
#   tools/fuzz-sessions.sh SECS [SEED]
#
# From SEED on, for SECS seconds and at least one script, up to ten differences.
# A script that differs once and then no more is only counted. Exit status: 0 no
# difference, 77 there is no chroot and none can be made.
set -eu
cd "$(dirname "$0")/.."
root=$(tools/chroot.sh trixie)
there=$(mktemp -d "$root/tmp/fuzz.XXXXXX")
trap 'rm -rf "$there"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
make >&2
erlc -o "$there" test/ct/inviso_sessions_*.erl test/ct/inviso_test_lib.erl \
	"$(find src -name inviso_trace.erl)"
serve='erl -noinput -env ERL_CRASH_DUMP_SECONDS 0 -s inviso_sessions_fuzz serve'
erl -noinput -env ERL_CRASH_DUMP_SECONDS 0 -pa "$there" -s inviso_sessions_fuzz main -extra \
	"$serve -pa ebin $there" \
	"chroot $root env -i HOME=/root PATH=/usr/bin:/bin $serve -pa /tmp/${there##*/}" \
	"$1" "${2:-$(date +%s)000}"
