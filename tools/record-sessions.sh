#!/bin/sh
# Writes test/ct/SUITE_data/otp27.terms for the suites of trace sessions: the
# outcomes of their scripts with OTP 27's own sessions. Run it when you add a
# script.
#
#   tools/record-sessions.sh
set -eu
cd "$(dirname "$0")/.."
root=$(tools/chroot.sh trixie)
there=$(mktemp -d "$root/tmp/record.XXXXXX")
trap 'rm -rf "$there"' EXIT
suites='inviso_trace_SUITE inviso_trace_functions_SUITE
	inviso_trace_tracees_SUITE'
random=inviso_trace_random_SUITE
for suite in $suites $random; do cp "test/ct/$suite.erl" "$there"; done
cp test/ct/inviso_sessions_*.erl test/ct/inviso_test_lib.erl \
	"$(find src -name inviso_trace.erl)" "$(find src -name inviso_seq_labels.erl)" "$there"
# shellcheck disable=SC2016,SC2086  # the inner shell expands; words
chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin sh -ec '
	cd "$1"
	shift
	erlc -W0 ./*.erl
	for suite; do
		erl -noinput -eval "inviso_sessions_lib:record($suite), halt()."
	done
	erl -noinput -eval "inviso_trace_random_SUITE:record(), halt()."
	' sh "/tmp/${there##*/}" $suites
for suite in $suites $random; do
	mkdir -p "test/ct/${suite}_data"
	cp "$there/$suite.terms" "test/ct/${suite}_data/otp27.terms"
done
