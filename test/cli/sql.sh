#!/bin/sh
# `inviso sql' and `inviso merge --format sqlite'.
# shellcheck source=lib.sh
. test/cli/lib.sh
frozen=$root/test/frozen
corpus=$root/fuzz/corpus
cd "$dir" || exit 1

# rows LOG-OR-DB QUERY: prints the rows without the head.
rows() { "$inviso" sql -q --csv "$1" "$2" 2>err | tail -n +2 | tr -d '\r'; }
is() { # EXPECTED LOG-OR-DB QUERY
	got=$(rows "$2" "$3")
	[ "$got" = "$1" ] || { echo "# $3: $got instead of $1"; cat err; return 1; }
}
no_leftover() { [ -z "$(find . -name "$1.*" -print)" ]; }

ok 'the command does not load SQLite' sh -c "! ldd '$inviso' | grep -q sqlite"
ok 'help is there' status 0 "$inviso" sql --help
ok 'and has examples' says out 'Examples:'
ok 'inviso lists the command' sh -c "'$inviso' --help | grep -q '^  sql '"
ok 'merge lists the format' sh -c "'$inviso' merge --help | grep -q sqlite"
ok 'without a log: usage' status 2 "$inviso" sql 'SELECT 1'
ok 'it says what is missing' says err 'no LOG and no database'
ok 'a database needs a name: usage' status 2 "$inviso" merge "$frozen/2/nth.log" -f sqlite
ok 'it says which' says err 'needs -o FILE'
ok 'a file that is not there: failed' status 1 "$inviso" sql nowhere.db 'SELECT 1'
ok 'with its name' says err nowhere.db

cp "$inviso" alone
ok 'without the helper program: failed' status 1 ./alone sql "$frozen/2/nth.log"
ok 'it says what is missing' says err 'there is no '"$(pwd -P)"/inviso_sql

cp "$frozen"/2/*.log .
ok 'a database' status 0 "$inviso" merge nth.log terms.log redacted.log -f sqlite -o F.db
ok 'with a summary' says out 'events recorded, 0 lost'
ok 'nothing else is left' no_leftover F.db
ok 'only its owner can read it' sh -c '[ "$(stat -c %a F.db)" = 600 ]'
ok 'the version of the tables' is 1 F.db 'PRAGMA user_version'
events=$("$inviso" merge -q --json nth.log terms.log redacted.log | grep -c '"tag"')
ok 'it has all events' is "$events" F.db 'SELECT count(*) FROM events'
ok 'logs have the same' sh -c "[ \"\$('$inviso' sql -q nth.log terms.log redacted.log 'SELECT count(*) FROM events' | tr -d '\r' | tail -1)\" = $events ]"
ok 'each call is a row' is 0 F.db "SELECT count(*) FROM events e FULL JOIN calls c
	USING (id) WHERE (e.tag IS 'call') <> (c.id IS NOT NULL)"
ok 'durations are those of JSON' is "$("$inviso" merge -q --json nth.log terms.log redacted.log |
	sed -n 's/.*"duration_ns":\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { print s }')" \
	F.db 'SELECT sum(duration_ns) FROM calls'
ok 'functions and arguments' is 'lists:nth/2,"[2,[a,""xyz"",{7,300}]]","""xyz"""' F.db \
	"SELECT mfa, args, result FROM calls WHERE function = 'nth'"
ok 'ids are those of the merge' is "1,$events" F.db 'SELECT min(id), max(id) FROM events'

# Records that the user defines.
cp "$frozen/3/failed.log" .
printf '%s.\n' '-record(nut, {pieces})' '-record(error, {why})' >nuts.hrl
named() { # how many calls have named fields in their arguments and results
	"$inviso" sql -q --csv --records nuts.hrl failed.log "SELECT count(*) FROM calls
		WHERE args LIKE '%#nut{pieces = 1}%' AND result LIKE '%#error{why = %'" | tr -d '\r' | tail -1
}
ok 'records are tuples if nothing defines them' is 0 failed.log \
	"SELECT count(*) FROM calls WHERE args LIKE '%#nut{%'"
ok '--records names their fields' [ "$(named)" -gt 0 ]
ok 'a database' status 0 "$inviso" merge -q failed.log -f sqlite -o R.db
ok 'a database has its terms already: usage' status 2 "$inviso" sql --records nuts.hrl R.db 'SELECT 1'
ok 'it says how to make one' says err 'inviso merge --records'
ok 'a time of day selects nothing from a database either' status 2 "$inviso" sql --from 10:37:44 R.db 'SELECT 1'

# Histograms of values, of `inviso hist --of'.
cp "$frozen/3/values.log" "$frozen/3/times.log" .
ok 'values of an expression' status 0 "$inviso" merge values.log times.log -f sqlite -o V.db
ok 'they are no times' is '301,1,byte_size(A2),1,90000,9045050,' V.db \
	"SELECT n, unpaired, measured, min_value, max_value, sum_value, sum_ns FROM counts
	WHERE counted = 'function' AND measured IS NOT NULL"
ok 'times are no values' is 2 V.db "SELECT count(*) FROM counts
	WHERE counted = 'function' AND sum_ns > 0 AND measured IS NULL AND sum_value IS NULL"
ok 'the buckets have all values' is 300,300 V.db "SELECT sum(n), sum(n) FILTER
	(WHERE from_value < to_value AND from_ns IS NULL) AS v FROM histograms WHERE measured = 'byte_size(A2)'"

# Every view and table answers, and every query of the manual.
all_views() {
	for view in $(rows F.db 'SELECT view FROM questions') \
		events calls messages processes collections losses nodes requests counts histograms; do
		status 0 "$inviso" sql F.db "$view" || return 1
		[ ! -s err ] || return 1
		grep -q "^\.It Li $view\$\|^\.Ss $view\$" "$root/docs/man/inviso-tables.5" ||
			{ echo "# the manual has no $view"; return 1; }
	done
}
ok 'all views answer, and are in the manual' all_views
all_columns() {
	n_columns=0
	for table in events calls messages processes collections losses nodes requests counts histograms; do
		sed -n "/^\.Ss $table\$/,/^\.Ss\|^\.Sh/p" "$root/docs/man/inviso-tables.5" |
			sed 's/[ ,]/\n/g' >columns
		for column in $(rows F.db "SELECT name FROM pragma_table_info('$table')"); do
			n_columns=$((n_columns + 1))
			grep -qx "$column" columns || { echo "# $table: no $column"; return 1; }
		done
	done
	[ "$n_columns" -gt 90 ] || { echo "# only $n_columns columns"; return 1; }
}
ok 'the manual has all columns' all_columns
cp F.db box.db
awk '/^\.Sh/ { on = /TEN QUERIES/ } /^\.Ed/ { if (on && text) { printf "%s%c", text, 0; text = "" } code = 0 }
	code && on { text = text $0 "\n" } /^\.Bd/ { code = 1 }' "$root/docs/man/inviso-sql.1" >queries
ten_queries() {
	n_queries=0
	while IFS= read -r query; do
		n_queries=$((n_queries + 1))
		printf '%s\n' "$query" | tr '\001' '\n' | sed "s|^inviso|'$inviso'|" >query.sh
		if ! status 0 sh query.sh || [ -s err ] || [ ! -s out ]; then
			cat query.sh
			return 1
		fi
	done <<EOF
$(tr '\n\000' '\001\n' <queries)
EOF
	[ "$n_queries" -eq 10 ]
}
ok 'the ten queries of the manual answer' ten_queries

ok 'without a query: a list' status 0 "$inviso" sql --table F.db
ok 'with the views' says out 'slowest_calls'
ok 'and what they answer' says out 'calls by how long they took'
ok 'a view by its name' status 0 "$inviso" sql --json --limit 1 F.db slowest_calls
ok 'JSON has names and values' says out '"mfa":"'
ok 'it says that there is more' says err 'only the first 1 row(s)'
ok 'CSV has a head' sh -c "'$inviso' sql F.db 'SELECT 1 AS a, NULL AS b' | tr -d '\r' | grep -qx 'a,b'"
ok 'a table is aligned' sh -c "'$inviso' sql --table F.db \"VALUES ('x', 1), ('yyyy', 22)\" | grep -qx 'x  *1'"
ok 'a wrong query: failed' status 1 "$inviso" sql F.db 'SELECT x FROM calls'
ok 'it says where columns are described' says err 'inviso-tables(5)'
ok 'an unknown table: failed' status 1 "$inviso" sql F.db 'SELECT 1 FROM nowhere'
ok 'it says who lists them' says err 'lists the tables'
ok 'a database is only read' status 1 "$inviso" sql F.db 'WITH x AS (SELECT 1) DELETE FROM _calls'
ok 'it says so' says err 'only queries are allowed'
ok 'so are logs' status 1 "$inviso" sql -q nth.log 'WITH x AS (SELECT 1) DELETE FROM _calls'
ok 'other files cannot be opened' status 2 "$inviso" sql F.db "ATTACH 'other.db' AS o"
ok 'nor by a function' status 1 "$inviso" sql F.db "SELECT * FROM pragma_query_only(0)"
ok 'a setting cannot be changed' status 1 "$inviso" sql F.db 'PRAGMA query_only = 0'
ok 'extensions cannot be loaded' status 1 "$inviso" sql F.db 'SELECT load_extension(1)'
ok 'two queries: failed' status 1 "$inviso" sql F.db 'SELECT 1; SELECT 2'
ok 'it says so' says err 'only one query'
ok 'a query without end' status 1 "$inviso" sql --timeout 1 F.db \
	'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT max(i) FROM c'
ok 'ends after its time' says err 'ended after 1 s'
printf 'SQLite format 3\000' >short.db
ok 'a damaged database: failed' status 1 "$inviso" sql short.db 'SELECT 1'
ok 'options that select are for logs: usage' status 2 "$inviso" sql --mfa lists F.db 'SELECT 1'
ok 'they select' status 0 "$inviso" sql -q --mfa lists:nth nth.log terms.log 'SELECT DISTINCT mfa FROM calls'
ok 'only these events' sh -c '[ "$(tail -n +2 out | tr -d "\r")" = lists:nth/2 ]'
ok 'nothing selected: 5' status 5 "$inviso" sql -q --mfa no:such nth.log events

tail -c +2 "$corpus/log/plain" >plain.log
ok 'losses have a status of their own' status 7 "$inviso" merge -q plain.log -f sqlite -o lost.db
ok 'and are rows' sh -c "[ \"\$('$inviso' sql -q --csv lost.db 'SELECT sum(n) FROM losses' | tail -1 | tr -d '\r')\" -gt 0 ]"
for f in events kinds; do
	"$inviso" merge -q "$corpus/tracefile/$f" --json >"$f.json"
	ok "a trace port's file: $f" is "$(grep -c '"tag"' "$f.json")" "$corpus/tracefile/$f" \
		'SELECT count(*) FROM events'
done

# If the disk is full, or the command is killed, no new file is left.
printf old >full.db
ok 'a full disk: failed' status 1 sh -c "ulimit -f 100; exec '$inviso' merge -q terms.log -f sqlite -o full.db"
ok 'it says why' says err 'File too large'
ok 'the old file stays' sh -c '[ "$(cat full.db)" = old ]'
ok 'no other is left' no_leftover full.db
mkfifo pipe
ok 'a FIFO cannot be a database' status 1 "$inviso" merge -q nth.log -f sqlite -o pipe
ok 'it says why' says err 'is not a regular file'
summary
