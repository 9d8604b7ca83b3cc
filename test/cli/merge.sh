#!/bin/sh
# `inviso merge`: options, exit codes, outputs. The inputs are the small files
# of the fuzzers' corpora.
# shellcheck source=lib.sh
. test/cli/lib.sh
corpus=$root/fuzz/corpus
cd "$dir" || exit 1

nothing_in() { [ ! -s "$1" ]; }
# Finds a program that checks whether each line of a file is JSON.
json_checker=
for checker in jq python3; do
	"$checker" --version >/dev/null 2>&1 && json_checker=$checker && break
done
is_json() {
	case $json_checker in
	jq) jq -e . <"$1" >/dev/null ;;
	*) python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' <"$1" ;;
	esac
}

is_no_json() { ! is_json "$1" 2>/dev/null; }

# A log, without the fuzzer's first byte, and a trace port's file.
tail -c +2 "$corpus/log/plain" >plain.log
cp "$corpus/tracefile/events" "$corpus/tracefile/kinds" "$corpus/tracefile/ti" .

ok 'help is there' status 0 "$inviso" merge --help
ok 'and has examples' says out 'Examples:'
ok 'the command lists merge' status 0 "$inviso" --help
ok 'by name' says out merge
ok 'and says its version' status 0 "$inviso" --version
ok 'without a log: usage' status 2 "$inviso" merge
ok 'a wrong format: usage' status 2 "$inviso" merge -f xml plain.log
ok 'it says which there are' says err 'text, json, classic, etf'
ok 'a wrong summary: usage' status 2 "$inviso" merge --summary no plain.log
ok 'an unknown command: usage' status 2 "$inviso" frobnicate
ok 'a file that is not there: failed' status 1 "$inviso" merge nowhere.log
ok 'with its name' says err nowhere.log
echo 'this is no log' >no.log
ok 'a file that is no log: failed' status 1 "$inviso" merge no.log
ok 'with the reason' says err 'no.log: neither a log, nor'
mkdir empty logs
ok 'a directory without logs: failed' status 1 "$inviso" merge empty
ok 'with its name' says err 'empty: there is no *.log and no *.ti file'
cp "$root/test/frozen/1/nth.log" logs/a.log
cp "$root/test/frozen/1/terms.log" logs/b@c.log.0
echo 'not a log' >logs/notes.txt
ok 'a directory with logs' status 0 "$inviso" merge logs
ok 'has the logs in it' says out '232 events recorded, 0 lost'
ok 'by other names, too' status 0 "$inviso" merge ./logs/
rm -r empty logs

ok 'a request without a number: usage' status 2 "$inviso" merge --request x plain.log
ok 'it says which number' says err 'as --requests lists it'
ok 'request 0: usage' status 2 "$inviso" merge --request 0 plain.log
ok 'a list and a request: usage' status 2 "$inviso" merge --requests --request 1 plain.log
ok 'one request to compare: usage' status 2 "$inviso" merge --compare 1
ok 'no number to compare: usage' status 2 "$inviso" merge --compare 1 plain.log
ok 'it says how' says err '--compare 1 7'
ok 'a list as a diagram: usage' status 2 "$inviso" merge --requests -f mermaid plain.log
ok 'it says that there is none' says err '--format mermaid has no such view of requests'
ok 'a diagram of all requests' status 0 "$inviso" merge -q -f mermaid kinds
ok 'is one of Mermaid' says out sequenceDiagram
ok 'requests in the order of time: usage' status 2 "$inviso" merge --requests --order time plain.log
ok 'requests in classic: usage' status 2 "$inviso" merge --requests -f classic plain.log
ok 'some events of requests: usage' status 2 "$inviso" merge --requests --tag send plain.log
ok 'it says which options select some' says err "select them with --pid or --filter 'send("
ok 'calls of requests: usage' status 2 "$inviso" merge --requests --filter shop:order/1 plain.log
ok 'slow calls of requests: usage' status 2 "$inviso" merge --requests --min-duration 1ms plain.log
ok 'it says why' says err 'requests consist of messages'
ok 'some events of ShiViz: usage' status 2 "$inviso" merge -f shiviz --pid '<0.1.0>' plain.log
ok 'no requests: nothing matched' status 5 "$inviso" merge -q --requests --from 2100-01-01 kinds
ok 'no such request: nothing matched' status 5 "$inviso" merge -q --request 7 kinds
ok 'it says so' says err 'there is no request 7'

ok 'losses have a status of their own' status 7 "$inviso" merge --utc plain.log
ok 'an event is in Erlang syntax' says out '<0.88.0> call m:f(1)'
ok 'losses stand in place' says out '*** 3 events lost: full'
ok 'the end counts' says out '-- 8 events recorded, 5 lost (3 full, 2 overwritten)'
ok 'a log without an end has a message' says err 'has no end'
ok 'quiet is quiet' status 7 "$inviso" merge -q plain.log
ok 'indeed' nothing_in err
ok 'the last line counts logs without an end' says out \
	' overwritten); 1 log without an end: events may be missing'
ok 'with json' status 7 "$inviso" merge -q --summary json -o o.txt -j plain.log
ok 'in the summary' says out ',"reasons":{"full":3,"overwritten":2},"after_limit":0,"unended":1,"filtered":0}'
ok 'without losses the status is 0' status 0 "$inviso" merge -q kinds

ok '--totals' status 7 "$inviso" merge -q --totals --tag call plain.log
ok 'prints the totals by tag, of the selected events' grep -q '^-- .*@.*: [1-9].* lost: [1-9][0-9]* call$' err
ok 'does not print them in the timeline' sh -c "! grep -q '^-- .*@' out"
ok 'without --totals' status 7 "$inviso" merge -q plain.log
ok 'there are no totals' nothing_in err

ok 'names come from ti files' status 7 "$inviso" merge --utc events ti
ok 'in text' says out '<0.9.0> pname call m:f(1,a)'
ok 'in classic' status 7 "$inviso" merge -f classic events --ti ti
ok 'as mappings' says out "a@vm [pname] {trace_ts,<0.9.0>,call,{m,f,[1,a]},{1,2,4}}"
ok 'a node can be named' status 7 "$inviso" merge -f classic b@vm=events
ok 'in place of what the file says' says out 'b@vm [] {trace_ts'

# {packet,4}: a length of 32 bits, then a term.
ok 'etf is written' status 7 "$inviso" merge -f etf events
ok 'in records' [ "$(head -c 5 out | od -An -tx1 | cut -d' ' -f2-4,6)" = '00 00 00 83' ]
cp out records
ok 'as fast as it is read' status 7 "$inviso" merge -f etf --paced events </dev/null
ok 'with a last one' [ "$(tail -c 10 out | od -An -tx1)" = ' 00 00 00 06 83 6d 00 00 00 00' ]
ok 'besides the same' sh -c 'head -c -10 out | cmp - records'
ok 'which may say what is wrong' status 1 "$inviso" merge -f etf --paced none </dev/null
ok 'in words' says out 'open none: No such file'
ok 'and only there' nothing_in err

ok 'json is written' status 7 "$inviso" merge --json plain.log events ti
if [ -n "$json_checker" ]; then
	ok 'and is JSON' is_json out
	echo '{"not":}' >no.json
	ok 'as not all is' is_no_json no.json
else
	n=$((n + 1))
	echo "ok $n - and is JSON # SKIP neither jq nor python3 is here"
fi
ok 'with names' says out '"names":["pname"]'
ok 'with losses' says out '{"lost":3,"reason":"full","ts":'

ok 'a file is written' status 7 "$inviso" merge -f classic --summary json -o o.txt events
ok 'and counted' says out '{"recorded":5,"entries":6,"lost":3,"reasons":{"tracer":3},"after_limit":0,"unended":0,"filtered":0,"requests":{"requests":1,"events":1,"messages":0,"not_received":0,"orphans":{},"repaired":0,"repeated":0,"forgotten":0}}'
ok 'other users cannot read it' [ "$(stat -c %a o.txt)" = 600 ]
ok 'as many lines as entries' [ "$(wc -l <o.txt)" = 6 ]
cp o.txt before
ok 'a failure leaves the file that was there' status 1 "$inviso" merge -o o.txt nowhere.log
ok 'as it was' cmp o.txt before
# The write fails after the new file was created.
if (trap '' XFSZ && ulimit -f 1) 2>/dev/null; then
	for _ in 1 2 3 4 5 6 7 8; do cat kinds kinds kinds kinds kinds kinds; done >k0
	ok 'so does one in the middle' status 1 sh -c \
		"trap '' XFSZ; ulimit -f 1; '$inviso' merge -q -o o.txt k0"
	ok 'for the reason that it gives' says err 'File too large'
	ok 'as it was, too' cmp o.txt before
fi
ok 'and there is no other' [ "$(find . -name 'o.txt*' | wc -l)" = 1 ]
ok 'where it cannot be written: failed' status 1 "$inviso" merge -o no/where/o.txt events
cp plain.log a.log && ln -s a.log b.log && ln a.log c.log
for name in a.log ./a.log b.log c.log; do
	ok "an output that is an input ($name): refused" \
		status 1 "$inviso" merge -o $name kinds a.log
	ok 'it says so' says err "$name: is an input"
done
ok 'or one that is named with its node' \
	status 1 "$inviso" merge -o events n@h=events
cp a.log twin.log
ok 'or that is there twice' status 1 "$inviso" merge -o a.log twin.log a.log
ok 'and the input is as it was' cmp a.log plain.log
# Options that select events. plain.log has eight events, all at the same time.
wants() { # OPTIONS...: prints the selected events, without their times
	"$inviso" merge -q --utc "$@" plain.log |
		sed -e '/\*\*\*/d' -e '/^--/d' -e 's/^.* a@h //' -e 's/^<0.88.0> //'
}
gives() { # LINES OPTIONS...
	lines=$1
	shift
	[ "$(wants "$@")" = "$lines" ] || { wants "$@" | sed 's/^/# /'; return 1; }
}
second='2023-11-14T22:13:20'
ok 'a tag is picked out' gives 'send m to f' --tag send
ok 'or several' [ "$(wants --tag send,call --tag in | wc -l)" = 5 ]
ok 'an unknown one: usage' status 2 "$inviso" merge --tag send,reply plain.log
ok 'with the list' says err 'reply: no such tag; the tags are send, '
ok 'a function is picked out' gives 'in m:f/3' --mfa m:f/3
ok 'or all of a module' [ "$(wants --mfa m | wc -l)" = 5 ]
ok 'which may end in a colon' [ "$(wants --mfa m: | wc -l)" = 5 ]
ok 'or none' gives '' --mfa Enum.map/2
ok 'a selection without events and with losses: 7' status 7 "$inviso" merge -q --mfa Enum.map/2 plain.log
ok 'with how many there are' says err 'nothing matched: of 8 event(s) the options select none'
ok 'without losses: 5' status 5 "$inviso" merge -q --mfa Enum.map/2 kinds
ok 'into a file, too' status 5 "$inviso" merge -q -o none.txt --tag send \
	--mfa Enum.map/2 kinds
ok 'no events at all are no mistake' status 0 "$inviso" merge -q ti
ok 'whatever is asked for' status 0 "$inviso" merge -q --mfa Enum.map/2 ti
ok 'what is no function: usage' status 2 "$inviso" merge --mfa seq/2 plain.log
ok 'with an example' says err 'lists:seq/2'
ok 'a process is picked out' [ "$(wants --pid '<0.88.0>' | wc -l)" = 8 ]
ok 'or another one' gives '' --pid '<0.89.0>'
ok 'of its node' gives '' --pid 'b@h=<0.88.0>'
ok 'what is no process: usage' status 2 "$inviso" merge --pid 88 plain.log
ok 'with an example too' says err "'<0.88.0>'"
ok 'all before a time' gives '' --to "$second"Z
ok 'and from it on' [ "$(wants --from "$second"Z | wc -l)" = 8 ]
ok 'by the clock' [ "$(wants --from 22:13:20 | wc -l)" = 8 ]
ok 'which says when it is over' gives '' --from 22:13:20.5
ok 'by seconds' [ "$(wants --from 1700000000 --to 1700000001 | wc -l)" = 8 ]
ok 'to the nanosecond' [ "$(wants --from 1700000000.000000204 | wc -l)" = 2 ]
ok 'half-open' [ "$(wants --to 1700000000.000000204 | wc -l)" = 6 ]
ok 'over midnight' [ "$(wants --from 22:13 --to 01:00 | wc -l)" = 8 ]
ok 'what is no time: usage' status 2 "$inviso" merge --from noon plain.log
ok 'with examples' says err '10:37:44.5 (of the day'
ok 'nothing can be between: usage' status 2 \
	"$inviso" merge --from "$second" --to 2023-11-13 plain.log
ok 'it says why' says err '--to is before --from'
ok 'losses are printed with a selection' status 7 "$inviso" merge -q --tag send plain.log
ok 'and what was left out' says out \
	'8 events recorded, 5 lost (3 full, 2 overwritten); 1 shown, 7 left out;'
ok 'in json' status 7 "$inviso" merge -q --tag send --summary json -o p.txt plain.log
ok 'as well' says out '"recorded":8,"entries":3,'
ok 'to the end' says out ',"filtered":7}'
ok 'nothing is coloured in a pipe' [ "$("$inviso" merge -q plain.log | tr -dc '\033')" = '' ]
# The input is too large to be merged before the signal comes. Files of records
# can be concatenated.
for _ in 1 2 3 4 5 6 7 8 9 10; do cat events events events events; done >l1
for _ in 1 2 3 4 5 6 7 8 9 10; do cat l1 l1 l1 l1 l1 l1 l1 l1; done >l2
for _ in 1 2 3 4 5 6 7 8 9 10; do cat l2 l2; done >l3
"$inviso" merge -q -o t.txt l3 l3 l3 l3 >/dev/null 2>&1 &
pid=$!
half_done() {
	set -- t.txt.*
	[ -e "$1" ]
}
until half_done || ! kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid 2>/dev/null
wait $pid
ok 'told to go, it goes' [ $? = 143 ]
ok 'and leaves nothing half done' [ "$(echo t.txt.*)" = 't.txt.*' ]
ok 'nor done' [ ! -e t.txt ]
# The command waits for the reader of its output while most of the input is
# still to be read.
{
	"$inviso" merge l3 2>err
	echo $? >code
} | {
	read -r _
	truncate -s 10000 l3
	cat >out
}
ok 'an input that is cut meanwhile is read up to there' [ "$(cat code)" = 7 ]
ok 'that is told' says err 'the file was cut'
ok 'and the end is as ever' says out ' events recorded, '
if [ -e /dev/full ]; then
	ok 'a full disk: failed' status 1 sh -c "'$inviso' merge -q events >/dev/full"
	ok 'with the reason' says err 'No space left'
	ok 'for a summary as well' \
		status 1 sh -c "'$inviso' merge -q -o o.txt events >/dev/full"
	ok 'with the reason too' says err 'No space left'
fi
ok 'an output without a name: usage' status 2 "$inviso" merge -o '' events
ok 'that is told too' says err '-o: '
# This is more than a pipe can hold, so the command must write after the reader
# has left. The input has no losses, for which the exit status would be 7.
for _ in 1 2 3 4 5 6 7 8 9 10; do cat kinds kinds kinds kinds kinds; done >k1
for _ in 1 2 3 4 5 6 7 8 9 10; do cat k1 k1 k1 k1 k1 k1 k1 k1; done >k2
{
	"$inviso" merge -q k2 2>err
	echo $? >code
} | true
ok 'a reader that leaves is no failure' [ "$(cat code)" = 0 ]
ok 'and nothing to tell of' nothing_in err
"$inviso" merge -q k2 >k2.txt
ok 'though it had more to write' [ "$(wc -c <k2.txt)" -gt 1000000 ]


# Formats without a profile leave out samples of stacks.
frozen=$root/test/frozen/3/samples.log
ok 'samples are not events' status 0 "$inviso" merge "$frozen"
ok 'and are named' says err '28 sample(s) of stacks are not shown; --format folded'
ok 'a profile shows them' status 0 "$inviso" merge -f folded "$frozen"
ok 'and names none' status 1 says err 'not shown'

summary
