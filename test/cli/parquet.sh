#!/bin/sh
# `inviso merge --format parquet', read by DuckDB, and in `make soak' by ClickHouse:
# all rows are those of SQLite.
# shellcheck source=lib.sh
. test/cli/lib.sh
frozen=$root/test/frozen
corpus=$root/fuzz/corpus
npm=$root/build/npm
cd "$dir" || exit 1

tables='events calls messages processes collections losses nodes requests counts histograms'
no_leftover() { [ -z "$(find . -name "$1.*" -print)" ]; }

ok 'merge lists the format' sh -c "'$inviso' merge --help | grep -q parquet"
ok 'it needs a name: usage' status 2 "$inviso" merge "$frozen/2/nth.log" -f parquet
ok 'it says which' says err 'needs -o DIR'
ok 'a directory' status 0 "$inviso" merge "$frozen/2" -f parquet -o P/
all_files() { for t in $tables; do [ -s "P/$t.parquet" ] || return 1; done; }
ok 'has a file for each table' all_files
ok 'only its owner can read it' sh -c '[ "$(stat -c %a P P/events.parquet | tr "\n" " ")" = "700 600 " ]'
ok 'nothing else is left' no_leftover P
ok 'a directory that is not empty: failed' status 1 "$inviso" merge -q "$frozen/2/nth.log" -f parquet -o P
ok 'it says so' says err 'not empty'
mkdir empty
ok 'an empty one is replaced' status 0 "$inviso" merge -q "$frozen/2/nth.log" -f parquet -o empty
ok 'a full disk: failed' status 1 sh -c "ulimit -f 1; exec '$inviso' merge -q '$frozen/2' -f parquet -o full"
ok 'it says why' says err 'File too large'
ok 'there is no directory' test ! -e full
ok 'and no other' no_leftover full
mkfifo pipe
sh -c "exec '$inviso' merge -q -f parquet -o killed '$frozen/2/nth.log' pipe" &
pid=$!
# The command makes the directory only when all inputs are open.
exec 3>pipe
kill -TERM $pid
wait $pid 2>/dev/null
exec 3>&-
ok 'a killed command leaves nothing' no_leftover killed
ok 'nor the directory' test ! -e killed

ok 'partitions' status 0 "$inviso" merge -q -f parquet --partition node,hour -o N "$frozen/2"
ok 'directories of nodes and hours' test -s 'N/events/node=shop@vm/hour=2026-11-23T10/part-0.parquet'
ok 'other tables have one file' test -s N/processes.parquet
ok 'another key: usage' status 2 "$inviso" merge -q -f parquet --partition day -o D "$frozen/2"
ok 'it says which keys there are' says err 'not one of node, hour and node,hour'
ok 'another format: usage' status 2 "$inviso" merge -q -f sqlite --partition node -o D "$frozen/2"
ok 'it says which' says err 'needs --format parquet'
ok 'a full disk: failed' status 1 sh -c "ulimit -f 1; exec '$inviso' merge -q '$frozen/2' -f parquet --partition node -o full"
ok 'there is no directory' test ! -e full
ok 'and no other' no_leftover full

# Compares all rows of all tables. $partition: arguments of merge. $reader: the
# script that reads the files.
partition='' reader=parquet
same_rows() { # LOG...
	rm -rf F.db Q rows
	mkdir rows
	"$inviso" merge -q --summary none "$@" -f sqlite -o F.db || [ $? = 7 ] || return 1
	# shellcheck disable=SC2086  # words
	"$inviso" merge -q --summary none $partition "$@" -f parquet -o Q || [ $? = 7 ] || return 1
	for t in $tables; do
		columns=$("$inviso" sql -q --csv F.db \
			"SELECT group_concat('CAST(\"' || name || '\" AS TEXT) AS \"' || name || '\"', ', ')
			FROM pragma_table_info('$t')" | tail -n +2 | tr -d '\r' | sed 's/^"//; s/"$//; s/""/"/g')
		"$inviso" sql -q --json F.db "SELECT $columns FROM $t" >"rows/$t.json" || return 1
	done
	status 0 node "$root/test/cli/$reader.js" "$npm" Q rows && [ "$(cat out)" -gt 5 ]
}
if [ -f "$npm/installed" ] && command -v node >/dev/null; then
	ok 'DuckDB has the rows of SQLite: terms' same_rows "$frozen/2" "$frozen/3/nth.log"
	tail -c +2 "$corpus/log/plain" >plain.log
	ok 'with losses' same_rows plain.log
	mkdir damaged
	for f in "$corpus"/log/*; do
		tail -c +2 "$f" >"damaged/$(basename "$f").log"
	done
	for f in damaged/*.log; do
		"$inviso" merge -q "$f" >/dev/null 2>&1 || [ $? = 7 ] || rm "$f"
	done
	ok 'damaged logs' same_rows damaged
	for f in events kinds; do
		ok "a trace port's file: $f" same_rows "$corpus/tracefile/$f"
	done
	for partition in '--partition node' '--partition hour' '--partition node,hour'; do
		ok "$partition: all rows" same_rows "$frozen/2" "$frozen/3/nth.log"
		ok "$partition: damaged logs" same_rows damaged
	done
	in_their_places() {
		status 0 node "$root/test/cli/parquet.js" "$npm" --query "
			SELECT count(DISTINCT hour) > 0, bool_and(
				strftime(e.ts, '%Y-%m-%dT%H') = hour AND
				contains(filename, '/node=' || e.node || '/'))
			FROM read_parquet('N/events/**/*.parquet', filename = true) e"
		says out 'true,true'
	}
	ok 'each file has the rows of its node and hour' in_their_places
	has_ns() {
		status 0 node "$root/test/cli/parquet.js" "$npm" --query \
			"SELECT max(epoch_ns(ts) % 1000) > 0, min(typeof(ts)) FROM 'P/calls.parquet'"
		says out 'true,TIMESTAMP_NS'
	}
	ok 'times have nanoseconds' has_ns
	if [ -n "${INVISO_SOAK:-}" ] && [ -d "$npm/node_modules/chdb" ]; then
		reader=clickhouse partition=''
		ok 'ClickHouse has the rows of SQLite' same_rows "$frozen/2" "$frozen/3/nth.log"
		ok 'ClickHouse: with losses' same_rows plain.log
		ok 'ClickHouse: damaged logs' same_rows damaged
		partition='--partition node,hour'
		ok 'ClickHouse: partitions' same_rows "$frozen/2" "$frozen/3/nth.log"
	elif [ -n "${INVISO_SOAK:-}" ]; then
		skip 'ClickHouse has the rows of SQLite' 'npm has not installed chdb'
	fi
else
	skip 'DuckDB has the rows of SQLite' 'npm has not installed @duckdb/node-api'
fi
summary
