#!/bin/sh
# Plays random scripts of trace sessions (test/ct/inviso_sessions_gen.erl) with
# inviso's sessions on this machine and with OTP 27's own sessions in a chroot. If
# the outcomes of a script differ, prints the smallest part of the script whose
# outcomes differ. `make fuzz T=sessions SECS=60` calls this.
#
#   tools/fuzz-sessions.sh SECS [SEED]
#
# The first script has the seed SEED. The program ends after SECS seconds or ten
# differences, but plays at least one script. A difference that does not occur in
# a second run is only counted. Exit status: 0 no difference, 77 no chroot can be
# made.
set -eu
cd "$(dirname "$0")/.."
root=$(tools/chroot.sh trixie)
there=$(mktemp -d "$root/tmp/fuzz.XXXXXX")
trap 'rm -rf "$there"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
make >&2
erlc -o "$there" test/ct/inviso_sessions_*.erl test/ct/inviso_test_lib.erl \
	"$(find src -name inviso_trace.erl)" "$(find src -name inviso_seq_labels.erl)"
serve='erl -noinput -env ERL_CRASH_DUMP_SECONDS 0 -s inviso_sessions_fuzz serve'
erl -noinput -env ERL_CRASH_DUMP_SECONDS 0 -pa "$there" -s inviso_sessions_fuzz main -extra \
	"$serve -pa ebin $there" \
	"chroot $root env -i HOME=/root PATH=/usr/bin:/bin $serve -pa /tmp/${there##*/}" \
	"$1" "${2:-$(date +%s)000}"
