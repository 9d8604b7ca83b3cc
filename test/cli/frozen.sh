#!/bin/sh
# Logs that earlier versions wrote, test/frozen/<format version>/*.log, must
# still be readable. The expected text of each is beside it. The logs are never
# changed; a text is changed only if the printing was wrong. Logs with samples of
# stacks also have a profile.
# shellcheck source=lib.sh
. test/cli/lib.sh

reads() { # LOG FORMAT EXPECTED
	"$inviso" merge --quiet --utc -f "$2" "$1" >"$dir/out"
	diff "$3" "$dir/out"
}

for log in test/frozen/*/*.log; do
	for format in text json classic folded; do
		expected=${log%.log}.$format
		[ $format != folded ] || [ -e "$expected" ] || continue
		ok "$expected" reads "$log" "$format" "$expected"
	done
done
ok 'there are logs' [ "$n" -gt 0 ]
summary
