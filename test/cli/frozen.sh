#!/bin/sh
# Logs written by earlier versions, test/frozen/<format version>/*.log, are
# read as ever: what is printed of them lies beside them. The logs are never
# made anew; the texts are only mended where the printing was wrong.
set -u
inviso=${INVISO_PRIV:-priv}/inviso
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

n=0 bad=0
for log in test/frozen/*/*.log; do
	for format in text json classic; do
		n=$((n + 1))
		expected=${log%.log}.$format
		"$inviso" merge --quiet --utc -f "$format" "$log" >"$out"
		if diff "$expected" "$out"; then
			echo "ok $n - $expected"
		else
			echo "not ok $n - $expected"
			bad=1
		fi
	done
done
[ "$n" -gt 0 ] && [ "$bad" -eq 0 ]
