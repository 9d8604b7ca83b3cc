# SPDX-License-Identifier: Apache-2.0
# Completion of inviso for bash. Commands and options are those that --help
# prints; nodes are those of this machine.
# shellcheck shell=bash

_inviso_commands() { # PROGRAM
	"$1" --help 2>/dev/null |
		sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

_inviso_options() { # PROGRAM COMMAND
	"$1" "$2" --help 2>/dev/null | sed 's/^ *//' | grep '^-' |
		grep -oE -- '(^-[a-zA-Z?],? |--[a-z-]+=?)' | tr -d ', '
}

_inviso_nodes() {
	epmd -names 2>/dev/null | sed -n 's/^name \(.*\) at port .*/\1/p'
	echo all
}

_inviso_words() { # WORDS PREFIX: the words that begin with PREFIX
	local word
	COMPREPLY=()
	while IFS= read -r word; do
		COMPREPLY+=("$word")
	done < <(compgen -W "$1" -- "$2")
}

_inviso() {
	local program=$1 word=$2 before=$3 command=

	[ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}
	# bash splits --option=value into three words.
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ] && [ "$COMP_CWORD" -ge 2 ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $command:$before in
	:*) _inviso_words "$(_inviso_commands "$program") help version --help --version" "$word" ;;
	help:*) _inviso_words "$(_inviso_commands "$program")" "$word" ;;
	*:-n | *:--node) _inviso_words "$(_inviso_nodes)" "$word" ;;
	*:--color) _inviso_words 'auto always never' "$word" ;;
	*:--keep) _inviso_words 'oldest newest' "$word" ;;
	*:-f | *:--format) _inviso_words 'text json classic etf mermaid shiviz sequence folded speedscope pprof callgrind svg perfetto otlp otlp-proto ctf parquet sqlite' "$word" ;;
	*:--summary) _inviso_words 'text json none' "$word" ;;
	*:--procs) _inviso_words 'all new existing' "$word" ;;
	*:--filter) COMPREPLY=() ;;
	*:-o | *:--output | *:--cookie-file | *:--ti | *:--records) COMPREPLY=() ;;
	*)
		case $word in
		-*) _inviso_words "$(_inviso_options "$program" "$command")" "$word" ;;
		*)
			case $command in
			trace | record) _inviso_words 'send receive procs ports running gc
				long_gc long_schedule large_heap busy_port busy_dist_port
				long_message_queue' "$word" ;;
			case)
				COMPREPLY=()
				[ "$COMP_CWORD" -ne 2 ] || _inviso_words 'list run undo' "$word"
				;;
			autostart)
				COMPREPLY=()
				[ "$COMP_CWORD" -ne 2 ] || _inviso_words 'show write remove' "$word"
				;;
			*) COMPREPLY=() ;;
			esac
			;;
		esac
		;;
	esac
	case ${COMPREPLY[0]} in
	*=) compopt -o nospace 2>/dev/null ;;
	esac
}

# If _inviso gives no words, bash completes names of files.
complete -o bashdefault -o default -F _inviso inviso
