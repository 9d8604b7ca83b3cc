#!/bin/sh
# The formats that show where time went. Each is read by the real tool for it, and
# all have the same totals.
# shellcheck source=lib.sh
. test/cli/lib.sh
cd "$dir" || exit 1
npm=$root/build/npm/node_modules

# 580 calls of modules and functions with odd names.
cp "$root/test/golden/calls.log" a.log
for format in folded speedscope pprof callgrind svg; do
	ok "$format" status 0 "$inviso" merge -q -f "$format" -o "a.$format" --by node a.log
done
node=$("$inviso" merge -q --json a.log | sed -n '1s/.*"node":"\([^"]*\)".*/\1/p')

# The sum of all times of a format, and the sum of all its counts.
folded_ns=$(awk '{ s += $NF } END { print s }' a.folded)
svg_totals() { sed -n 's/.*data-ns="\([0-9]*\)" data-count="\([0-9]*\)".*/\1 \2/p' a.svg; }
counts=$(svg_totals | cut -d' ' -f2)
totals="$folded_ns $counts"

speedscope_totals() {
	python3 - a.speedscope <<'PY'
import json, sys
d = json.load(open(sys.argv[1], encoding='utf-8'))
frames = d['shared']['frames']
for p in d['profiles']:
    assert all(0 <= i < len(frames) for s in p['samples'] for i in s)
    assert len(p['samples']) == len(p['weights'])
    assert p['endValue'] == sum(p['weights'])
print(*[sum(p['weights']) for p in d['profiles']])
PY
}
same() { [ "$1" = "$2" ] || { echo "# $1, not $2"; return 1; }; }

ok 'there is time' test "$folded_ns" -gt 1000
ok 'and all calls' test "$counts" = 580
ok 'speedscope has the same totals' same "$(speedscope_totals)" "$totals"
ok 'svg has the same totals' same "$(svg_totals)" "$totals"
ok 'svg is XML' python3 -c 'import xml.dom.minidom as m; m.parse("a.svg")'

callgrind_totals() {
	callgrind_annotate a.callgrind | tr -d , |
		sed -n 's/^ *\([0-9]*\) *([0-9. ]*%) *\([0-9]*\) *([0-9. ]*%) *PROGRAM TOTALS/\1 \2/p'
}
# Adds up the costs of all lines except those of calls.
callgrind_sums() {
	awk '/^calls=/ { getline; next } /^0 / { ns += $2; n += $3 } END { print ns, n }' a.callgrind
}
if command -v callgrind_annotate >/dev/null; then
	ok 'callgrind_annotate has the same totals' same "$(callgrind_totals)" "$totals"
	callgrind_annotate --inclusive=yes a.callgrind >out
	ok 'and all time is in the frame of the node' says out "(100.0%)  ???:$node"
else
	skip 'callgrind_annotate' 'no valgrind'
fi
ok 'the costs of functions are the totals' same "$(callgrind_sums)" "$totals"

pprof_total() { # SAMPLE_INDEX
	HOME=$dir ./pprof -raw a.pprof 2>/dev/null |
		awk -v i="$1" '/^Locations/ { exit } inside && NF > 2 { sub(":", "", $2); s += $i }
			/^calls/ { inside = 1 } END { print s }'
}
"$root/test/build-pprof" "$dir" >log 2>&1
built=$?
if [ "$built" != 77 ]; then
	ok 'pprof is built' same "$built" 0
	ok 'pprof has the same totals' same "$(pprof_total 2) $(pprof_total 1)" "$totals"
	HOME=$dir ./pprof -top -cum -unit ns a.pprof >out 2>/dev/null
	ok 'and all time is in the frame of the node' says out " ${folded_ns}ns   100%  $node"
else
	skip 'pprof' 'no golang-github-google-pprof-dev'
fi

if [ -d "$npm/speedscope" ] && command -v node >/dev/null; then
	cat >check.cjs <<'JS'
const [npm, file] = process.argv.slice(2);
const fs = require('fs');
const Ajv = require(npm + '/ajv');
const schema = JSON.parse(fs.readFileSync(
  npm + '/speedscope/dist/release/file-format-schema.json'));
const ajv = new (Ajv.default || Ajv)({ strict: false });
const check = ajv.compile(schema);
if (!check(JSON.parse(fs.readFileSync(file)))) {
  console.log(check.errors);
  process.exit(1);
}
JS
	ok 'speedscope'\''s schema' works node check.cjs "$npm" "$PWD/a.speedscope"
	sed 's/"sampled"/"simple"/' a.speedscope >wrong
	ok 'which another file fails' status 1 node check.cjs "$npm" "$PWD/wrong"
else
	skip 'speedscope'\''s schema' 'build/npm does not have it (tools/deps.sh)'
fi

ok 'a call path without a node' status 0 "$inviso" merge -q -f folded a.log
ok 'begins with a function' says out 'shop:order/1;'
ok 'and not with the node' status 1 grep -q "^$node" out
ok 'a kind' status 0 "$inviso" merge -q -f folded --by kind a.log
ok 'is a registered name' says out 'shop_worker;shop:order/1'
ok 'a filter selects calls' status 0 "$inviso" merge -q -f folded --mfa shop:wrap/1 a.log
ok 'inside their paths' status 1 grep -qv 'pack/1-lc.*;shop:wrap/1 [0-9]*$' out
ok 'a log without calls' status 0 "$inviso" merge -q -f speedscope "$root/fuzz/corpus/tracefile/ti" "$root/test/frozen/2/nth.log"
ok 'a key that is none: usage' status 2 "$inviso" merge -f folded --by x a.log
ok 'it says which there are' says err 'kind, node, label'
ok 'a key of another format: usage' status 2 "$inviso" merge --by kind a.log
ok 'it says which it needs' says err 'such as folded or svg'

# If the file does not fit on the disk, no incomplete file has its name.
full() { (
	ulimit -f 1
	trap '' XFSZ
	"$inviso" merge -q -f svg -o full.svg a.log
); }
ok 'a full disk: failed' status 1 full
ok 'leaves no file' status 2 ls full.svg*

summary
