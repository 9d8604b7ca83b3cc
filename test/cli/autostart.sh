#!/bin/sh
# inviso autostart as far as it gets without a node.
set -u
inviso=${INVISO_PRIV:-priv}/inviso
case $inviso in /*) ;; *) inviso=$PWD/$inviso ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
HOME=$dir
export HOME
unset INVISO_COOKIE XDG_CONFIG_HOME NO_COLOR

n=0 bad=0
ok() {
	what=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		bad=1
	fi
}
status() {
	expected=$1
	shift
	"$inviso" autostart "$@" >out 2>err
	got=$?
	[ "$got" = "$expected" ] || { echo "# status $got of: $*"; cat err; return 1; }
}
says() { grep -qF -- "$2" "$1"; }
refuses() {
	text=$1
	shift
	status 2 "$@" && says err "$text"
}

ok 'help' status 0 --help
ok 'with examples' says out 'Examples:'
ok 'and exit codes' says out 'Exit status:'
ok 'nothing said' refuses 'show, write or remove?' -n a@h
ok 'something else' refuses 'walk: not show, write or remove' walk -n a@h
ok 'without a node' refuses 'no node is named' show
ok 'an argument too much' refuses 'b@h: nodes are named with -n' show b@h
ok 'write without a case' refuses 'which trace case?' write -n a@h
ok 'what is no value' refuses 'Module: not NAME=VALUE' write -n a@h f Module
ok 'a value without a name' refuses '=x: not NAME=VALUE' write -n a@h f =x
ok 'starts' refuses '--starts 0: not 1 to 1000000' write -n a@h f --starts 0
ok 'a log without a name' refuses '--log: the name is empty' write -n a@h f --log ''
ok 'a case that is not there' status 1 write -n a@h nothing.txt
ok 'is told' says err 'nothing.txt: No such file or directory'
ok 'a directory' status 1 write -n a@h .
ok 'is none' says err '.: cannot be read'
head -c 2000000 /dev/zero >large
ok 'a case without end' status 1 write -n a@h large
ok 'is too large' says err 'large: too large'
ok 'a node that is not there' status 3 show -n a@127.0.0.1 -c x

echo "1..$n"
exit $bad
