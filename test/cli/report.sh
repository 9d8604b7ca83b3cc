#!/bin/sh
# `inviso report' as text. test/ct/inviso_report_SUITE.erl compares its numbers
# with those of `inviso sql', and shows its page in a browser.
# shellcheck source=lib.sh
. test/cli/lib.sh
frozen=$root/test/frozen
cd "$dir" || exit 1

prints() { # PATTERN OPTION...: the report of failed.log has this line
	pattern=$1
	shift
	status 0 "$inviso" report -q "$@" failed.log && grep -q -- "$pattern" out && [ ! -s err ]
}

cp "$frozen/3/failed.log" .
ok 'help is there' status 0 "$inviso" report --help
ok 'inviso lists the command' sh -c "'$inviso' --help | grep -q '^  report '"
ok 'a call that began before the first event has a negative time' \
	prints '^ *-0[.]000005 .*shop:order/2'
printf '%s.\n' '-record(nut, {pieces})' '-record(error, {why})' >nuts.hrl
ok 'records are tuples if nothing defines them' prints '{nut,1}'
ok '--records names their fields' prints '#nut{pieces = 1}' --records nuts.hrl
summary
