#!/bin/sh
# Writes test/ct/inviso_trace_SUITE_data/otp27.terms: what OTP 27's trace
# sessions make of the suite's scripts. To be run when a script is added.
#
#   tools/record-sessions.sh
set -eu
cd "$(dirname "$0")/.."
root=$(tools/chroot.sh trixie)
there=$(mktemp -d "$root/tmp/record.XXXXXX")
trap 'rm -rf "$there"' EXIT
cp test/ct/inviso_trace_SUITE.erl test/ct/inviso_sessions_*.erl \
	src/inviso_trace.erl "$there"
# shellcheck disable=SC2016  # the inner shell expands
chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin sh -ec '
	cd "$1"
	erlc -W0 ./*.erl
	erl -noinput -eval "inviso_trace_SUITE:record(\"otp27.terms\"), halt()."
	' sh "/tmp/${there##*/}"
cp "$there/otp27.terms" test/ct/inviso_trace_SUITE_data/
