#!/bin/sh
# inviso autostart without a node: options, errors, and what it checks before
# it connects.
# shellcheck source=lib.sh
. test/cli/lib.sh
cd "$dir" || exit 1
no_cookie

ends() { # STATUS ARGUMENT...
	ends=$1
	shift
	status "$ends" "$inviso" autostart "$@"
}
refuses() { # TEXT ARGUMENT...
	text=$1
	shift
	ends 2 "$@" && says err "$text"
}

ok 'help' ends 0 --help
ok 'with examples' says out 'Examples:'
ok 'and exit codes' says out 'Exit status:'
ok 'nothing said' refuses 'show, write or remove?' -n a@h
ok 'something else' refuses 'walk: not show, write or remove' walk -n a@h
ok 'without a node' refuses 'no node is given' show
ok 'an argument too much' refuses 'b@h: nodes are named with -n' show b@h
ok 'write without a case' refuses 'which trace case?' write -n a@h
ok 'what is no value' refuses 'Module: not NAME=VALUE' write -n a@h f Module
ok 'a value without a name' refuses '=x: not NAME=VALUE' write -n a@h f =x
ok 'starts' refuses '--starts 0: not 1 to 1000000' write -n a@h f --starts 0
ok 'a log without a name' refuses '--log: the name is empty' write -n a@h f --log ''
ok 'a case that is not there' ends 1 write -n a@h nothing.txt
ok 'the error names the file' says err 'nothing.txt: No such file or directory'
ok 'a directory' ends 1 write -n a@h .
ok 'is none' says err '.: cannot be read'
head -c 2000000 /dev/zero >large
ok 'a case without end' ends 1 write -n a@h large
ok 'is too large' says err 'large: too large'
ok 'a node that is not there' ends 3 show -n a@127.0.0.1 -c x

summary
