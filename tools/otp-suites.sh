#!/bin/sh
# Runs OTP 27's test suites for tracing on the installed release, with inviso's
# module in place of `trace', and seq_trace_SUITE with inviso's tracer as the system
# tracer. This shows whether inviso's sessions on OTP 25 and 26 behave like OTP 27's,
# and whether the events of sequential traces are what they should be. The suites come from Debian's source package; the changes
# to them are in tools/otp_suites.erl. They run in a scratch directory.
#
#   tools/otp-suites.sh [-m MODE[,MODE...]] [-j N] [-k] [SUITE[:CASE]...]
#
#   SUITE    its name, with or without _SUITE; default: all
#   -m MODE  one of these; default: all modes but the last
#              plain                 the tests use a session, and there is no other
#              dynamic_pre_session   another session is opened before
#              dynamic_post_session  another session sets each pattern of a test
#                                    afterwards, to count calls
#              dynamic_pre_post      both other sessions, which must get no events
#              legacy_pre_session    the tests use erlang:trace/3, and there are
#              legacy_post_session   the same other sessions, which must not change
#              legacy_pre_post       what the tests trace
#              ungrouped             the cases that have no modes
#              legacy                erlang:trace/3 alone, without inviso
#   -j N     run N modes at the same time (default: 1): most cases mostly wait.
#            Cases of trace_call_time compare times of calls with a clock, and may
#            fail on a busy machine (time_error)
#   -k       keep the directory, with Common Test's own logs
#
# Prints `MODE SUITE:CASE RESULT', with the reason below a case that failed or was
# skipped; then the counts of each mode; and at last `N passed, N failed,
# N unattainable, N skipped'. The results:
#
#   ok, failed, skipped
#   unattainable         the case failed with the reason that it has in
#                        tools/otp-suites.known, the list of known failures
#   ok, listed as known  the case is in the list and did not fail; counts as failed
#
# A run of all cases also counts an entry of the list as failed if it belongs to
# no case. On releases other than the list's own, such entries and listed cases
# that pass are allowed.
#
# Each suite runs in a new node for each mode. If the node dies, its current case
# has failed, and the suite's other cases are not run.
#
# OTP_SUITES_TRACE=DIR takes the module `trace' from DIR instead of inviso's.
# OTP_SUITES_TIMEOUT: seconds for a suite in a mode (1800).
#
# Exit status: 0 no case failed, 77 the suites are not available here (the reason
# is on stderr), 1 otherwise.
set -u
cd "$(dirname "$0")/.." || exit 1

orig=erlang_27.3.4.1+dfsg.orig.tar.xz
sum=0834643ef1e17886d5e334a39527d8429bcf50613b86d59d4757466f32984b7e

say() { printf 'otp-suites.sh: %s\n' "$*" >&2; }
cannot() { say "$*"; exit 77; }

known=tools/otp-suites.known
modes='plain dynamic_pre_session dynamic_post_session dynamic_pre_post'
modes="$modes legacy_pre_session legacy_post_session legacy_pre_post ungrouped"
all_modes="$modes legacy"

jobs=1 keep='' whole=1
while getopts m:j:kh option; do
	case $option in
	m) modes=$(echo "$OPTARG" | tr , ' ') whole='' ;;
	j) jobs=$OPTARG ;;
	k) keep=1 ;;
	*) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
case $jobs in ''|*[!0-9]*|0) say "-j $jobs: not a number of modes"; exit 2 ;; esac
for mode in $modes; do
	case " $all_modes " in
	*" $mode "*) ;;
	*) say "-m $mode: no such mode"; exit 2 ;;
	esac
done

# --- the sources ------------------------------------------------------------

archive() { # downloads the source package if it is missing, and prints its path
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
		lib/stdlib/test/error_info_lib.erl \
		lib/kernel/test/seq_trace_SUITE.erl \
		lib/kernel/test/seq_trace_SUITE_data/echo_drv.c ||
		cannot "$1 cannot be unpacked"
	dir=$scratch/suites
	mv "$scratch/emulator/test" "$dir"
	mv "$scratch"/stdlib/test/*.erl "$scratch"/kernel/test/* "$dir"
}

# Compiles the suites with the parse transform in otp_suites. Also makes an empty
# ts_install_cth, a hook of the suites that only OTP's own source tree has.
compile() {
	erlc -o "$dir" tools/otp_suites.erl || exit 1
	printf '%s\n' '-module(ts_install_cth).' '-export([init/2]).' \
		'init(_, _) -> {ok, none}.' >"$dir/ts_install_cth.erl"
	(cd "$dir" && erlc -W0 -pa . '+{parse_transform,otp_suites}' ./*.erl) || exit 1
	include=$(erl -noinput -boot start_clean -eval 'io:put_chars(
		filename:join(code:root_dir(), "usr/include")), halt().')
	for source in "$dir"/*_data/*.c; do
		gcc -w -shared -fPIC -DHAVE_UNISTD_H -I"$include" \
			-o "${source%.c}.so" "$source" || exit 1
	done
}

# --- running ----------------------------------------------------------------

# Prints the cases that are in no group, and the release's version.
look() {
	erl -noinput -boot start_clean -pa "$dir" -eval '
		otp_suites:ungrouped("'"$dir"'"), halt().' >"$scratch/ungrouped" ||
		exit 1
	release=$(erl -noinput -boot start_clean -eval 'io:put_chars(element(2,
		file:read_file(filename:join([code:root_dir(), "releases",
		erlang:system_info(otp_release), "OTP_VERSION"])))), halt().')
	# $exact is not empty if this is the release that the list is for.
	exact=$(awk -v release="$release" '$1 == "otp" && $2 == release' "$known")
}

# Prints the options of ct:run_test/1 that select cases of a suite, or nothing if
# the suite has no case for the mode.
selected() { # MODE SUITE CASE|''
	cases=$(sed -n "s/^$2 //p" "$scratch/ungrouped" | tr '\n' ' ')
	if [ "$1" = ungrouped ]; then
		for case in $cases; do
			[ -n "$3" ] && [ "$case" != "$3" ] || echo "$case"
		done | paste -sd, | sed -n 's/..*/{testcase,[&]}/p'
	elif grep -q trace_sessions: "$dir/$2.erl"; then
		case " $cases" in *" $3 "*) [ -z "$3" ] || return 0 ;; esac
		echo "{group,$1}${3:+,{testcase,$3\}}"
	fi
}

run() { # MODE SUITE CASE|''
	what=$(selected "$1" "$2" "$3")
	[ -n "$what" ] || return 0
	log=$scratch/log/$1/$2${3:+.$3}
	mkdir -p "$log"
	if [ -n "${OTP_SUITES_TRACE:-}" ]; then
		path=$OTP_SUITES_TRACE install=ok
	else
		path=$(pwd)/ebin install='ok = inviso_trace:install()'
	fi
	OTP_SUITES_EBIN=$(pwd)/ebin timeout -k 10 "${OTP_SUITES_TIMEOUT:-1800}" erl -noinput \
		-sname "otp_suites_$$_$1" -pa "$path" -pa "$dir" -eval "
		$install, ct:run_test([{dir, \"$dir\"}, {suite, $2},
			{logdir, \"$log\"}, {auto_compile, false},
			{ct_hooks, [otp_suites]}, $what]), halt()." \
		>"$log/output" 2>&1 </dev/null
	status=$?
	results "$1" "$2" "$log" $status >"$log/results"
	cat "$log/results"
}

# Reads the results from Common Test's machine log. If the node ended early,
# the last case has no result.
results() { # MODE SUITE LOG STATUS
	find "$3" -name suite.log -exec cat {} + |
	awk -v mode="$1" -v suite="$2" -v status="$4" -v known="$known" \
		-v exact="$exact" '
	function told() {
		if (name == "" || name ~ /:(init|end)_per_/ && result != "failed")
			return
		if (result == "") {
			if (status != 0)
				reason = "    the node went down (" status ")\n"
			result = "failed"
		}
		if (result == "auto_skipped") result = "failed"
		entry = mode "/" name
		if (!(entry in expected)) entry = name
		if (!(entry in expected)) sub(/:.*/, ":*", entry)
		if (entry in expected) judge()
		printf "%s %s %s\n", mode, name, result
		if (result ~ /^(failed|skipped)/) printf "%s", reason
		name = ""
		cases++
	}
	function judge(text) {
		text = reason
		gsub(/[ \t\n]+/, " ", text)
		if (result == "ok" && exact)
			result = "ok, listed as known"
		else if (result == "failed" && text ~ expected[entry])
			result = "unattainable"
		else if (result == "failed")
			reason = reason "    expected by " known ": /" \
				expected[entry] "/\n"
	}
	BEGIN {
		while ((getline line < known) > 0) {
			if (split(line, part, /[ \t]+\/|\/[ \t]+/) >= 3 &&
			    line !~ /^#/)
				expected[part[1]] = part[2]
		}
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

# Worker number NUMBER of $jobs workers: runs every $jobs-th mode.
work() { # NUMBER SUITE[:CASE]...
	turn=$1
	shift
	for mode in $modes; do
		turn=$((turn - 1))
		[ $((turn % jobs)) = 0 ] || continue
		for what; do
			suite=${what%%:*} case=''
			case $what in *:*) case=${what#*:} ;; esac
			run "$mode" "${suite%_SUITE}_SUITE" "$case"
		done
	done
}

# Prints entries of the list of known failures that belong to no case.
unused() {
	awk '
	FNR == NR {
		name[$1 "/" $2] = name[$2] = 1
		sub(/:.*/, ":*", $2)
		name[$2] = 1
		next
	}
	/^[^# ]+:/ && !($1 in name) {
		printf "%s is in %s, but there is no such case\n", $1, FILENAME
	}' "$scratch/results" "$known"
}

suite_names() {
	(cd "$dir" && ls ./*_SUITE.erl) | sed 's/\.erl$//; s/^\.\///'
}

scratch=$(mktemp -d)
[ -n "$keep" ] || trap 'rm -rf "$scratch"' EXIT
path=$(archive) || exit
unpack "$path"
compile
look
if [ $# -gt 0 ]; then
	whole=''
else
	# shellcheck disable=SC2046  # one word a suite
	set -- $(suite_names)
fi
worker=0
while [ $worker -lt "$jobs" ]; do
	worker=$((worker + 1))
	work $worker "$@" | tee "$scratch/results.$worker" &
done
wait
cat "$scratch"/results.[0-9]* >"$scratch/results"
[ -z "$keep" ] || say "logs are in $scratch/log"

count() { grep -c "^[a-z][^ ]* [^ ]* $1\$" "$2"; }
row() { # NAME RESULTS
	printf '%-22s %6d %6d %12d %7d\n' "$1" "$(count ok "$2")" \
		"$(count '\(failed\|ok, listed as known\)' "$2")" \
		"$(count unattainable "$2")" "$(count skipped "$2")"
}
echo
printf '%-22s passed failed unattainable skipped\n' mode
for mode in $modes; do
	grep "^$mode " "$scratch/results" >"$scratch/mode"
	row "$mode" "$scratch/mode"
done
failed=$(count '\(failed\|ok, listed as known\)' "$scratch/results")
if [ -n "$whole" ] && [ -n "$exact" ]; then
	unused >"$scratch/unused"
	cat "$scratch/unused"
	failed=$((failed + $(wc -l <"$scratch/unused")))
fi
passed=$(count ok "$scratch/results")
printf '%d passed, %d failed, %d unattainable, %d skipped\n' "$passed" \
	"$failed" "$(count unattainable "$scratch/results")" \
	"$(count skipped "$scratch/results")"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
