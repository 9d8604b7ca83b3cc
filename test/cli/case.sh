#!/bin/sh
# `inviso case' without a node: the list of trace cases, and the command line
# that it makes from a case file.
# shellcheck source=lib.sh
. test/cli/lib.sh
cd "$dir" || exit 1
no_cookie

ok 'help' status 0 "$inviso" case --help
ok 'with examples' says out 'Examples:'
ok 'and exit codes' says out 'Exit status:'
ok 'nothing said' status 2 "$inviso" case
ok 'what there is to say' says err 'list, run or undo?'
ok 'something else' status 2 "$inviso" case walk
ok 'the error names it' says err 'inviso case walk: not a subcommand'

mkdir cases
ok 'a directory without cases' status 5 "$inviso" case list cases
ok 'says so' says err 'cases: has no *.case file'
ok 'no directory' status 1 "$inviso" case list nowhere
ok 'says why' says err 'nowhere: No such file or directory'
ok 'two directories' status 2 "$inviso" case list cases cases

cat >cases/calls.case <<'END'
# What a function is "called" with.
trace
--timeout ${TIME:-1s}
$MODULE:$FUNCTION/_
END
cat >cases/a-night.case <<'END'
record
--for $TIME
--detach
send
END
ok 'list' status 0 "$inviso" case list cases
printf '%s\n' 'a-night          record TIME' \
	'calls            trace TIME=1s MODULE FUNCTION' \
	'                 What a function is "called" with.' >expected
ok 'prints them' cmp -s out expected
ok 'here' sh -c "cd cases && '$inviso' case list | cmp -s - ../expected"
ok 'list as JSON' status 0 "$inviso" case list --json cases
cat >expected <<'END'
{"name":"a-night","file":"cases/a-night.case","command":"record","vars":[{"name":"TIME"}],"summary":""}
{"name":"calls","file":"cases/calls.case","command":"trace","vars":[{"name":"TIME","default":"1s"},{"name":"MODULE"},{"name":"FUNCTION"}],"summary":"What a function is \"called\" with."}
END
ok 'is JSON' cmp -s out expected
echo '${x' >cases/bad.case
ok 'a file that is none' status 1 "$inviso" case list cases
ok 'does not hide the others' says out 'a-night '
ok 'the error names it' says err 'cases/bad.case:1: '

run() { # STATUS ARGUMENT...
	expected=$1
	shift
	status "$expected" "$inviso" case run "$@"
}
ok 'run of what?' run 2
ok 'the file comes first' run 2 -n a@h cases/calls.case
ok 'in words' says err 'which FILE? Write it before'
ok 'run of a file that is not there' run 1 nothing.case
ok 'the error names the file' says err 'inviso case run: nothing.case: '
ok 'a variable without a value' run 2 cases/calls.case -n a@h MODULE=lists
ok 'the error names it' says err 'cases/calls.case: FUNCTION needs a value: FUNCTION=...'
ok 'a value without a variable' run 2 cases/calls.case MODULES=lists
ok 'the error names it' says err 'cases/calls.case has no variable MODULES'
ok 'the command says what it lacks' run 2 cases/calls.case MODULE=m FUNCTION=f
ok 'as that command' says err 'inviso trace: no node is given'
ok 'values of the file are checked' run 2 cases/calls.case -n a@h MODULE=m \
	FUNCTION=f TIME=x
ok 'by the command' says err '--timeout x: not a time'
ok 'what is said counts more' run 2 cases/calls.case -n a@h MODULE=m \
	FUNCTION=f --timeout y
ok 'than the file' says err '--timeout y: not a time'
ok 'a recording' run 2 cases/a-night.case -n a@h TIME=x
ok 'is one of record' says err 'inviso record: --for x: not a time'
ok 'a node that is not there' run 3 cases/calls.case -n a@127.0.0.1 MODULE=m \
	FUNCTION=f -c cookie
ok 'undo of what?' status 2 "$inviso" case undo -n a@h
ok 'in words' says err 'which trace case?'
ok 'undo needs a node' status 2 "$inviso" case undo cases/a-night.case
ok 'of stop' says err 'inviso stop: no node is given'
ok 'undo on a node that is not there' status 3 "$inviso" case undo \
	cases/a-night.case -n a@127.0.0.1 -c cookie

summary
