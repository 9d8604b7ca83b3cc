#!/bin/sh
# The commands that talk to nodes, as far as they get without one: options,
# help, completion, and nodes that are not there.
set -u
inviso=${INVISO_PRIV:-priv}/inviso
case $inviso in /*) ;; *) inviso=$PWD/$inviso ;; esac
root=$PWD
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
# No cookie but what a test says.
HOME=$dir
export HOME
unset INVISO_COOKIE XDG_CONFIG_HOME NO_COLOR

n=0 bad=0
# ok WHAT COMMAND...: a point, by the command's status.
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
# status N COMMAND...: whether it ends so; what it says is in out and err.
status() {
	expected=$1
	shift
	"$@" >out 2>err
	got=$?
	[ "$got" = "$expected" ] || { echo "# status $got of: $*"; cat err; return 1; }
}
says() { grep -qF -- "$2" "$1"; }
# refuses TEXT COMMAND...: usage, and why.
refuses() {
	text=$1
	shift
	status 2 "$inviso" "$@" && says err "$text"
}

ok 'no command: usage' status 2 "$inviso"
ok 'with a list of them' says err '  trace      watch'
status 0 "$inviso" --help
cp out commands
ok 'help is a command' status 0 "$inviso" help
ok 'with the same words' cmp -s out commands
ok 'help of help, too' status 0 "$inviso" help help
ok 'with the same' cmp -s out commands
status 0 "$inviso" trace --help
cp out trace_help
ok 'help of a command' status 0 "$inviso" help trace
ok 'is what the command says' cmp -s out trace_help
ok 'help of no command' status 2 "$inviso" help nonsense
ok 'says so' says err "'nonsense' is no command"
status 0 "$inviso" --version
cp out version
ok 'version is a command' status 0 "$inviso" version
ok 'with the same version' cmp -s out version
for command in trace record status stop fetch; do
	ok "the command lists $command" grep -q "^  $command " commands
	ok "$command has help" status 0 "$inviso" $command --help
	ok "with examples" says out 'Examples:'
	ok "and exit codes" says out 'Exit status:'
	[ $command = status ] ||
		ok "$command without a node" refuses 'no node is named' $command
	ok "$command says who speaks" refuses "inviso $command: " $command -n a@b@c
	ok "$command of all, but which?" refuses 'name one of the nodes' \
		$command -n all
	ok "$command of a node that is none" refuses '-n a@b@c: ' $command -n a@b@c
	ok "$command with a wrong time" refuses '--timeout x: not a time' \
		$command -n a@h --timeout x
done

# What dead nodes left on this machine; here is none.
ok 'status without a node' status 0 env TMPDIR="$dir" "$inviso" status
ok 'status of dead nodes in a directory' status 0 "$inviso" status --remote-dir "$dir"
ok 'and as JSON' status 0 "$inviso" status --json

for command in trace record; do
	ok "$command without a spec" refuses 'no SPEC' $command -n a@h
	ok "$command of an empty spec" refuses 'a SPEC is empty' $command -n a@h ''
	ok "$command of an arrow that the shell took" refuses \
		"quote the SPEC: 'm:f/1 -> ...'" $command -n a@h m:f/1 -
	ok "$command of one without spaces" refuses \
		"quote the SPEC: 'm:f/1 -> ...'" $command -n a@h m:f/1-
	ok "$command in a directory that is none" refuses '--remote-dir tmp: ' \
		$command -n a@h --remote-dir tmp m
	ok "$command for no time" refuses '--for never: not a time' \
		$command -n a@h --for never m
	ok "$command for too long" refuses '--for 60d: not a time' \
		$command -n a@h --for 60d m
	ok "$command of no number of events" refuses '--events many: not a number' \
		$command -n a@h --events many m
	ok "$command of too large terms" refuses '--max-term 1G: ' \
		$command -n a@h --max-term 1G m
	ok "$command of too deep terms" refuses '--depth 1000: ' \
		$command -n a@h --depth 1000 m
	ok "$command of more memory than all" refuses '--max-memory 101: ' \
		$command -n a@h --max-memory 101 m
	ok "$command by half a filter" refuses \
		'--filter: character 16: the text ends where a term belongs' \
		$command -n a@h --filter 'm:f(N) when N >' m
	ok "$command by what is no match spec" refuses '--filter: ' \
		$command -n a@h --filter '[{[_,exit,_],[]}]' m
	ok "$command by what never happens" refuses 'no event is known that is called exti;' \
		$command -n a@h --filter '[{[_,exti,_],[],[]}]'
	ok "$command tells its defaults" status 0 "$inviso" $command --help
	ok "of terms" says out '(4k, at most 64k)'
done
ok 'a colour is no colour' refuses '--color blue: not one of' \
	trace -n a@h --color blue m
ok 'a detached recording has a deadline' refuses '--detach needs --for' \
	record -n a@h --detach m
ok 'a recording has a plain name' refuses '--name A/B: ' \
	record -n a@h --name A/B m
ok 'it keeps one end or the other' refuses '--keep both: ' \
	record -n a@h --keep both m
ok 'stop wants a name' refuses 'which recording?' stop -n a@h
ok 'and one' refuses 'one recording at a time' stop -n a@h a b
ok 'fetch wants a name' refuses 'which recording?' fetch -n a@h
ok 'status takes nodes as options' refuses 'nodes are named with -n' status a@h

# Nodes that are not there.
ok 'no cookie anywhere' status 1 "$inviso" trace -n a@localhost m
ok 'it says where it looked' says err 'INVISO_COOKIE'
INVISO_COOKIE=secret
export INVISO_COOKIE
ok 'a node that is not there' status 3 "$inviso" trace -n inviso_nobody@localhost m
ok 'is named' says err 'inviso trace: inviso_nobody@localhost: '
ok 'a host that is not there' status 3 "$inviso" trace \
	-n a@inviso-nowhere.invalid m
ok 'is named, too' says err 'inviso-nowhere.invalid'
for command in 'record -o d m' 'stop x' 'fetch x' status; do
	# shellcheck disable=SC2086  # words
	ok "$command: a node that is not there" status 3 "$inviso" $command \
		-n inviso_nobody@localhost
	ok 'is named by it' says err 'inviso_nobody@localhost: '
	ok 'and once' test "$(grep -c inviso_nobody@localhost: err)" = 1
done
ok 'nothing is said of the cookie' status 3 "$inviso" trace \
	-n inviso_nobody@localhost m
ok 'not even its name' sh -c '! grep -q secret out err'
unset INVISO_COOKIE
ok 'a cookie on the command line' status 3 "$inviso" status \
	-n inviso_nobody@localhost -c secret
ok 'is warned of' says err 'others on this machine can see'
echo secret >cookie
chmod 644 cookie
ok 'a cookie that others can read' status 4 "$inviso" status \
	-n inviso_nobody@localhost --cookie-file cookie
ok 'is told of' says err 'cookie'

# Completion.
if command -v bash >/dev/null; then
	possible() { # WORD...: what the last one can be
		PATH=$(dirname "$inviso"):$PATH bash -c '
		. "$0/share/inviso.bash"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_inviso inviso "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' "$root" inviso "$@" >out 2>err
	}
	completes() { # TEXT WORD...
		text=$1
		shift
		possible "$@" && grep -qxF -- "$text" out
	}
	ok 'commands are completed' completes trace tr
	ok 'help and version, too' completes version v
	ok 'commands after help' completes record help re
	ok 'options are completed' completes --events= trace --ev
	ok 'of the command' completes --detach record --de
	ok 'values are completed' completes newest record --keep n
	ok 'nodes are completed' completes all trace -n al
	ok 'kinds of events are completed' completes receive trace -n a rec
	ok 'what to do with trace cases is completed' completes undo case u
	ok 'what to do with autostart is completed' completes write autostart wr
	ok 'without a word of complaint' test ! -s err
else
	echo "ok $((n += 1)) - completion # SKIP no bash"
fi

if command -v zsh >/dev/null; then
	# What it would add, a word a line; and by what it ends.
	possible_zsh() { # WORD...
		PATH=$(dirname "$inviso"):$PATH zsh -f -c '
		compadd() {
			local end=" "
			[[ $1 = -S ]] && end=$2 && shift 2
			if [[ $1 = -a ]]; then
				for word in ${(P)2}; do print -r -- "$word$end|"; done
			else
				for word; do print -r -- "$word$end|"; done
			fi
		}
		_describe() { for word in ${(P)4}; do print -r -- "$word"; done }
		compset() { PREFIX=${PREFIX#*=} }
		words=("$@") CURRENT=$# PREFIX=$words[-1]
		source "$0/share/_inviso"' "$root" inviso "$@" >out 2>err
	}
	completes_zsh() { # TEXT WORD...
		text=$1
		shift
		possible_zsh "$@" && grep -qxF -- "$text" out
	}
	ok 'zsh: commands are completed' completes_zsh \
		'trace:watch calls and messages of running nodes' tr
	ok 'zsh: help and version, too' completes_zsh \
		'version:print the version' v
	ok 'zsh: commands after help' completes_zsh \
		'trace:watch calls and messages of running nodes' help tr
	ok 'zsh: options are completed' completes_zsh '--detach |' record --de
	ok 'zsh: to where their value begins' completes_zsh '--events=|' trace --ev
	ok 'zsh: values are completed' completes_zsh 'newest |' record --keep n
	ok 'zsh: in one word, too' completes_zsh 'newest |' record --keep=n
	ok 'zsh: nodes are completed' completes_zsh 'all|' trace -n al
	ok 'zsh: kinds of events are completed' completes_zsh 'receive |' \
		trace -n a rec
	ok 'zsh: without a word of complaint' test ! -s err
else
	echo "ok $((n += 1)) - completion of zsh # SKIP no zsh"
fi

echo "1..$n"
exit $bad
