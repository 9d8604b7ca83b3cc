#!/bin/sh
# Line coverage of the unit tests, one line for each room. `make cover` builds
# the tests and calls this. gcov is part of gcc.
set -eu
cd "$(dirname "$0")/.."
find build/cover -name '*.gcda' -delete
for program in build/cover/test/unit/*_test; do
	[ -x "$program" ] || { echo 'no unit tests'; exit 0; }
	"$program" >/dev/null 2>&1 || echo "$program failed"
done
find build/cover/obj/c_src -name '*.gcno' | LC_ALL=C sort | while read -r notes; do
	gcov -n "$notes" 2>/dev/null
done | awk -F"[':%]" '
/^File/ { file = $2; next }
/^Lines executed/ && file ~ /^c_src\/.*\.c$/ {
	split(file, path, "/")
	split($0, of, "of ")
	lines[path[2]] += of[2]
	hit[path[2]] += of[2] * $2 / 100
	file = ""
}
END { for (room in lines)
	printf "%-8s %5.1f %% of %d lines\n", room, 100 * hit[room] / lines[room], lines[room] }' | sort
