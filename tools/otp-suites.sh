#!/bin/sh
# Runs the test suites that OTP 27 has for tracing against our module in the
# place of its `trace', on the release that is installed: a yardstick for the
# sessions of OTP 25 and 26. The suites come from Debian's source package, are
# compiled as they are and run in a scratch directory.
#
#   tools/otp-suites.sh [-m MODE] [-k] [SUITE[:CASE]...]
#
#   SUITE    its name, with or without _SUITE; default: all
#   -m MODE  dynamic_pre_post (default): the tests use a session of ours, beside
#            two others that are to notice nothing; legacy_pre_post: they use
#            erlang:trace/3, beside two sessions of ours, which leave all that
#            the tests trace as it is: of their flags and patterns nothing is
#            in the VM, as no event could come of them, and their counters rest
#            beside global patterns of the tests. Suites that know no modes
#            use a session
#   -k       keep the directory, with Common Test's own logs
#
# Prints `MODE SUITE:CASE ok|failed|skipped|unattainable', below a case that
# failed its reason, and last `N passed, N failed, N unattainable, N skipped'.
# Unattainable are the cases in tools/otp-suites.known, for this mode or for
# all, that failed here; those which passed are ok. A suite runs in a node of
# its own: when that goes down, its case has failed and the rest is not run.
#
# OTP_SUITES_TRACE=DIR takes the module `trace' from there instead of ours.
# OTP_SUITES_TIMEOUT: seconds for a suite (900).
#
# Exit status: 0 nothing failed but what is unattainable, 77 the suites cannot
# be had here (the reason is on stderr), 1 otherwise.
set -u
cd "$(dirname "$0")/.." || exit 1

orig=erlang_27.3.4.1+dfsg.orig.tar.xz
sum=0834643ef1e17886d5e334a39527d8429bcf50613b86d59d4757466f32984b7e

say() { printf 'otp-suites.sh: %s\n' "$*" >&2; }
cannot() { say "$*"; exit 77; }

mode=dynamic_pre_post keep=
while getopts m:kh option; do
	case $option in
	m) mode=$OPTARG ;;
	k) keep=1 ;;
	*) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# --- the sources ------------------------------------------------------------

archive() { # prints the path of the source package, which it gets first
	dir=$(tools/chroot.sh --base)/src
	mkdir -p "$dir" 2>/dev/null || cannot "cannot write to $dir"
	exec 9>"$dir/lock"
	flock 9
	if [ ! -e "$dir/$orig" ]; then
		mirror=$(tools/chroot.sh --mirror)
		[ -n "$mirror" ] || cannot "no Debian mirror in apt's configuration"
		say "getting $orig (45 MiB)"
		wget -q -O "$dir/$orig.part" \
			"${mirror%/}/pool/main/e/erlang/$orig" ||
			cannot "$mirror has no $orig"
		echo "$sum  $dir/$orig.part" | sha256sum -c --quiet >&2 ||
			cannot "$orig is not what it was"
		mv "$dir/$orig.part" "$dir/$orig"
	fi
	echo "$dir/$orig"
}

unpack() {
	tar -xJf "$1" -C "$scratch" --strip-components=2 --wildcards --no-anchored \
		'erts/emulator/test/*trac*' \
		erts/emulator/test/match_spec_SUITE.erl \
		erts/emulator/test/dummy.erl \
		erts/emulator/test/erts_test_utils.erl \
		lib/stdlib/test/error_info_lib.erl ||
		cannot "$1 cannot be unpacked"
	dir=$scratch/suites
	mv "$scratch/emulator/test" "$dir"
	mv "$scratch"/stdlib/test/*.erl "$dir"
}

# As they are, but for what otp_suites does as a parse transform. The suites ask
# for a hook that only OTP's own source tree has.
compile() {
	erlc -o "$dir" tools/otp_suites.erl || exit 1
	printf '%s\n' '-module(ts_install_cth).' '-export([init/2]).' \
		'init(_, _) -> {ok, none}.' >"$dir/ts_install_cth.erl"
	(cd "$dir" && rm trace_call_memory_SUITE.erl &&
	 erlc -W0 -pa . '+{parse_transform,otp_suites}' ./*.erl) || exit 1
	include=$(erl -noinput -boot start_clean -eval 'io:put_chars(
		filename:join(code:root_dir(), "usr/include")), halt().')
	for source in "$dir"/*_data/*.c; do
		gcc -w -shared -fPIC -DHAVE_UNISTD_H -I"$include" \
			-o "${source%.c}.so" "$source" || exit 1
	done
}

# --- running ----------------------------------------------------------------

run() { # SUITE CASE|''
	log=$scratch/log/$1${2:+.$2}
	mkdir -p "$log"
	if grep -q trace_sessions: "$dir/$1.erl"; then
		what="{group,$mode}"
	else
		what='{group,all}'
	fi
	case $what$2 in
	'{group,all}') what='' ;;
	'{group,all}'*) what=",{testcase,$2}" ;;
	*) what=",$what${2:+,{testcase,$2\}}" ;;
	esac
	if [ -n "${OTP_SUITES_TRACE:-}" ]; then
		path=$OTP_SUITES_TRACE install=ok
	else
		path=$(pwd)/ebin install='ok = inviso_trace:install()'
	fi
	timeout -k 10 "${OTP_SUITES_TIMEOUT:-900}" erl -noinput \
		-sname "otp_suites_$$" -pa "$path" -pa "$dir" -eval "
		$install, ct:run_test([{dir, \"$dir\"}, {suite, $1},
			{logdir, \"$log\"}, {auto_compile, false},
			{ct_hooks, [otp_suites]}$what]), halt()." \
		>"$log/output" 2>&1 </dev/null
	status=$?
	results "$1" "$log" $status | tee -a "$scratch/results"
}

# From Common Test's machine log: the last case without a result is where the
# node went down.
results() { # SUITE LOG STATUS
	find "$2" -name suite.log -exec cat {} + |
	awk -v mode="$mode" -v suite="$1" -v status="$3" '
	function known(name) {
		return (name in unattainable) ||
			(mode "/" name in unattainable)
	}
	function told() {
		if (name == "" || name ~ /:(init|end)_per_/ && result != "failed")
			return
		if (result == "") result = status == 0 ? "failed" : "crashed"
		if (result == "auto_skipped") result = "failed"
		else if (result != "ok" && known(name)) result = "unattainable"
		else if (result == "crashed") {
			result = "failed"
			reason = "the node went down (" status ")\n"
		}
		printf "%s %s %s\n", mode, name, result
		if (result == "failed") printf "%s", reason
		name = ""
		cases++
	}
	BEGIN {
		while ((getline line < "tools/otp-suites.known") > 0)
			if (split(line, word, /[ \t]+/) && word[1] !~ /^#/)
				unattainable[word[1]] = 1
	}
	/^=case / { told(); name = $2; result = reason = ""; show = 0; next }
	/^=result/ {
		result = $2
		sub(/:$/, "", result)
		sub(/^=result *[a-z_]*:? */, "")
		reason = "    " $0 "\n"
		show = 1
		next
	}
	/^=/ { show = 0; if (/^=cases/) told(); next }
	show && lines(reason) < 25 { reason = reason "    " $0 "\n" }
	function lines(text) { return gsub(/\n/, "&", text) }
	END {
		told()
		if (!cases)
			printf "%s %s:%s failed\n", mode, suite, "none"
		if (status == 124)
			printf "%s %s:%s failed\n", mode, suite, "timeout"
	}'
}

suite_names() {
	(cd "$dir" && ls ./*_SUITE.erl) | sed 's/\.erl$//; s/^\.\///'
}

scratch=$(mktemp -d)
[ -n "$keep" ] || trap 'rm -rf "$scratch"' EXIT
path=$(archive) || exit
unpack "$path"
compile
# shellcheck disable=SC2046  # one word a suite
[ $# -gt 0 ] || set -- $(suite_names)
for what; do
	suite=${what%%:*} case=''
	case $what in *:*) case=${what#*:} ;; esac
	run "${suite%_SUITE}_SUITE" "$case"
done
[ -z "$keep" ] || say "logs are in $scratch/log"

count() { grep -c "^$mode [^ ]* $1\$" "$scratch/results"; }
printf '%d passed, %d failed, %d unattainable, %d skipped\n' "$(count ok)" \
	"$(count failed)" "$(count unattainable)" "$(count skipped)"
[ "$(count failed)" = 0 ]
