#!/bin/sh
# The commands that talk to nodes, without a node: options, help, completion,
# and nodes that do not exist.
# shellcheck source=lib.sh
. test/cli/lib.sh
cd "$dir" || exit 1
no_cookie

# refuses TEXT COMMAND...: succeeds if the command exits with "usage" and
# prints TEXT.
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
ok 'says so' says err "'nonsense' is not a command"
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
		ok "$command without a node" refuses 'no node is given' $command
	ok "$command names itself in errors" refuses "inviso $command: " $command -n a@b@c
	ok "$command of all, but which?" refuses 'name one of the nodes' \
		$command -n all
	[ $command != status ] ||
		RELEASE_NODE=a@h INVISO_NODE=a@h ok 'status takes no nodes of the environment' \
			refuses 'name one of the nodes' $command -n all
	ok "$command of a node that is none" refuses '-n a@b@c: ' $command -n a@b@c
	ok "$command with a wrong time" refuses '--timeout x: not a time' \
		$command -n a@h --timeout x
	ok "$command of a port that is none" refuses 'no port number' \
		$command -n a@h:99999
	ok "$command of two ports" refuses 'two ports, 1 and 2' \
		$command -n a@h:1,a@h:2
	ok "$command at no port" refuses '--at h: write HOST:PORT' \
		$command -n a@h --at h
	ok "$command of two nodes at one port" refuses 'exactly one -n NODE' \
		$command -n a@h,b@h --at h:1
	ok "$command of all at one port" refuses 'exactly one -n NODE' \
		$command -n a@h -n all --at h:1
	ok "$command of no node at a port" refuses 'exactly one -n NODE' \
		$command --at h:1
	ok "$command of a service that is no name" refuses '--dns a@b@c: write a name' \
		$command --dns a@b@c
	ok "$command of a service and a port" refuses 'nor --dns' \
		$command -n a@h --dns svc --at h:1
	ok "$command of a node here and a service" refuses '--dns a@svc' \
		$command -n a --dns svc
	ok "$command with a key alone" refuses '--tls-key needs --tls-cert' \
		$command -n a@h --tls-key f
	ok "$command that checks and does not" refuses 'not both' \
		$command -n a@h --tls-ca f --tls-no-verify
	ok "$command of a plain node without TLS" refuses 'give an option --tls-' \
		$command -n a@h --plain a@h
	ok "$command of a plain node that is none" refuses '--plain b@h: this node is not' \
		$command -n a@h --plain b@h --tls-ca f
	ok "$command of an empty path" refuses 'is empty' \
		$command -n a@h --tls-ca ''
	ok "$command of a node with two ports" refuses '-n a@h without :2' \
		$command -n a@h:2 --at h:1
done

# RELEASE_NODE names the node of a release. The node does not exist.
RELEASE_NODE=shop@127.0.0.1
export RELEASE_NODE
ok 'the node of a release' status 3 env ERL_EPMD_PORT=1 RELEASE_COOKIE=c "$inviso" stop x
ok 'is named' says err 'using the node of RELEASE_NODE, shop@127.0.0.1'
ok 'and connected to' says err 'shop@127.0.0.1: no epmd'
ok 'also with a port' status 3 env RELEASE_COOKIE=c "$inviso" stop --at 127.0.0.1:1 x
ok 'at which nothing listens' says err 'shop@127.0.0.1: nothing listens on 127.0.0.1'
ok 'status connects to no release' status 0 "$inviso" status
ok 'and another node takes precedence' status 3 env ERL_EPMD_PORT=1 RELEASE_COOKIE=c \
	"$inviso" stop -n a@localhost x
ok 'alone' sh -c '! grep -q shop err'
ok 'without a cookie' status 1 "$inviso" stop x
ok 'both are missing' says err 'no cookie'
ok 'a release without distribution' status 2 env RELEASE_DISTRIBUTION=none "$inviso" stop x
ok 'is refused' says err 'RELEASE_DISTRIBUTION=none'
ok 'a wrong name of a release' status 2 env RELEASE_NODE=a@b@c "$inviso" stop x
ok 'names the variable' says err 'RELEASE_NODE: '
unset RELEASE_NODE

# Without nodes, status looks for recordings that dead nodes left on this
# machine. There are none.
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
	ok "$command by what never happens" refuses 'there is no trace tag exti;' \
		$command -n a@h --filter '[{[_,exti,_],[],[]}]'
	ok "$command --help has the defaults" status 0 "$inviso" $command --help
	ok "of terms" says out '(4k, at most 16M)'
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

# Nodes that do not exist.
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
ok 'the error is about the cookie' says err 'cookie'

# The shells' completion.
if command -v bash >/dev/null; then
	possible() { # WORD...: prints the completions of the last word
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
	# Prints the completions of a word, one in each line, with the
	# character that ends them.
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

summary
