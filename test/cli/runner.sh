#!/bin/sh
# Tests test/job, which must count failures that Common Test and programs hide.
# Each planted test has expected counts.
set -u
root=$(pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

tree=$dir/tree
beams=$tree/build/release/ct
mkdir -p "$tree/test/cli" "$beams" "$tree/priv" "$tree/bin" "$dir/logs/ct" "$dir/logs/cli"
ln -s "$root/ebin" "$tree/ebin"

n=0 bad=0
counted() { # GROUP NAME 'PASSED FAILED SKIPPED' WHAT
	n=$((n + 1))
	(cd "$tree" && INVISO_ROOT=$tree LOGS=$dir/logs "$root/test/job" "$1" "$2") >"$dir/out" 2>&1
	got=$(awk -v g="$1" -v n="$2" '$1 == g && $2 == n { print $3, $4, $5 }' "$dir/logs/results")
	if [ "$got" = "$3" ]; then
		echo "ok $n - $4"
	else
		sed 's/^/# /' "$dir/out"
		echo "# counted: $got, not $3"
		echo "not ok $n - $4"
		bad=1
	fi
}

# --- programs -----------------------------------------------------------------

script() { # NAME COMMANDS
	printf '#!/bin/sh\n%s\n' "$2" >"$tree/test/cli/$1.sh"
	chmod +x "$tree/test/cli/$1.sh"
}

script good 'printf "ok 1 - a\nok 2 - b\n1..2\n"'
script two 'printf "1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c # SKIP\n"'
script short 'printf "1..3\nok 1 - a\nok 2 - b\n"'
script long 'printf "1..1\nok 1 - a\nok 2 - b\n"'
script none 'printf "ok 1 - a\n"'
script empty 'echo 1..0'
script dies 'printf "1..2\nok 1 - a\n"; kill -9 $$'
counted cli good '2 0 0' 'a program that keeps to its plan has passed'
counted cli two '2 0 1' 'a program with two groups of points has passed'
counted cli short '2 1 0' 'fewer points than planned are a failure'
counted cli long '2 1 0' 'more points than planned are a failure'
counted cli none '1 1 0' 'points without a plan are a failure'
counted cli empty '0 1 0' 'a plan without points is a failure'
counted cli dies '1 1 0' 'a program that is killed is a failure'

# --- jobs that are killed -------------------------------------------------------

point() { # STATUS WHAT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}

until_so() { # COMMAND...: within a minute
	tries=0
	until "$@"; do
		[ $tries -lt 600 ] || return 1
		tries=$((tries + 1))
		sleep 0.1
	done
}
runs() { pgrep -f "sleep 98765$1" >/dev/null; }
runs_not() { ! runs "$1"; }

groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)$(sed -n 's/^0:://p' /proc/self/cgroup 2>/dev/null)
script sleeps 'sleep 98765.1 & sleep 98765.2'
script deaf "trap '' TERM; sleep 98765.3 & wait; wait; sleep 98765.4"
script interrupted 'kill -INT $$; echo not interrupted'
for name in sleeps deaf; do
	(cd "$tree" && INVISO_ROOT=$tree LOGS=$dir/logs exec "$root/test/job" cli $name) >"$dir/out" 2>&1 &
	job=$!
	until_so runs .
	kill $job
	wait $job
	until_so runs_not .
	point $? "the test of a job that is terminated ends with it: $name"
	test ! -e "$groups/inviso-test-$job" && test ! -e "$tree/build/test-tmp/cli-$name"
	point $? 'and its cgroup and directory are removed'
done
counted cli interrupted '0 1 0' 'a test can be interrupted'

mkdir -p "$dir/soak/test"
cp test/soak "$dir/soak/test"
# shellcheck disable=SC2016  # $ is for the job
printf '#!/bin/sh\n[ "$1" != --can-isolate ] || exit 0\nkill -9 $$\n' >"$dir/soak/test/job"
chmod +x "$dir/soak/test/job"
echo 'unit lost' >"$dir/soak/test/soak.list"
TIME=5 SEED=1 JOBS=1 "$dir/soak/test/soak" >"$dir/out" 2>&1
tail -n 1 "$dir/out" | grep -q '^0 passed, [1-9][0-9]* failed$'
point $? 'a job that soak loses is a failure'

# This job fails in its first run and passes in its second one, with the same seed.
cp test/rerun "$dir/soak/test"
cat >"$dir/soak/test/job" <<'END'
#!/bin/sh
[ "$1" != --can-isolate ] || exit 0
mkdir -p "$LOGS/$1"
if [ ! -e "$LOGS/$1/seed" ]; then
	echo "$INVISO_SEED" >"$LOGS/$1/seed"
	echo "INVISO_SEED=$INVISO_SEED" >"$LOGS/$1/$2.log"
	echo "$1 $2 0 1 0 0 -" >>"$LOGS/results"
elif [ "$INVISO_SEED" = "$(cat "$LOGS/$1/seed")" ]; then
	echo "$1 $2 1 0 0 0 -" >>"$LOGS/results"
fi
END
echo 'unit pauses' >"$dir/soak/test/soak.list"
RERUN=2 TIME=3 SEED=7 JOBS=1 "$dir/soak/test/soak" >"$dir/out" 2>&1
grep -q '^flaky: passed the second time: unit:pauses$' "$dir/out" &&
	[ "$(tail -n 1 "$dir/out")" = '1 passed, 0 failed' ]
point $? 'a test of soak can run a second time'

# --- long tests -----------------------------------------------------------------

# In this tree test/slow.list names a case, a script and a program. The job writes
# what it was asked to do.
mkdir -p "$dir/run/test/ct" "$dir/run/test/cli" "$dir/run/test/stress" "$dir/run/build/test-logs"
cp test/run test/slow "$dir/run/test"
cat >"$dir/run/test/job" <<'END'
#!/bin/sh
[ "$1" != --can-isolate ] || exit 0
echo "$1 $2${INVISO_WITHOUT_SLOW:+ without $INVISO_WITHOUT_SLOW}" >>asked
echo "$1 $2 1 0 0 0 0" >>"$LOGS/results"
END
chmod +x "$dir/run/test/job"
for name in test/cli/long.sh test/cli/short.sh test/ct/select_SUITE.erl test/ct/first.list \
	test/ct/once.list test/stress/kill.c test/stress/ring.c; do
	: >"$dir/run/$name"
done
chmod +x "$dir"/run/test/cli/*.sh
printf '%s\n' '# long' 'ct select_SUITE:large,huge' 'cli long' 'stress kill' >"$dir/run/test/slow.list"

asked() { # SELECTION EXPECTED WHAT: which jobs test/run starts
	rm -f "$dir/run/asked"
	# shellcheck disable=SC2086  # words
	INVISO_MATRIX=${matrix:-} SLOW_HALF=${half:-} INVISO_NO_BUILD=1 "$dir/run/test/run" $1 >"$dir/out" 2>&1
	got=$(sort "$dir/run/asked" | tr '\n' ';')
	[ "$got" = "$2" ] || echo "# asked: $got"
	[ "$got" = "$2" ]
	point $? "$3"
}
asked 'cli stress' 'cli short;stress ring;' 'a whole group has no long tests'
asked cli:long 'cli long;' 'a long test that is named runs'
if command -v erl >/dev/null; then
	asked ct 'ct select_SUITE without all;' 'all suites run without their long cases'
	asked ct:select 'ct select_SUITE;' 'a suite that is named runs with its long cases'
	matrix=newest asked ct 'ct select_SUITE;' 'on the newest release suites run with their long cases'
	matrix=other asked ct 'ct select_SUITE without all;' \
		'on other releases suites run without their long cases'
	matrix=newest half=1 asked ct 'ct select_SUITE without 1;' \
		'the newest release leaves out the half that make slow runs'
fi
asked slow 'cli long;ct select_SUITE:large,huge;stress kill;' 'the group of long tests has all of them'
half=1 asked slow 'cli long;ct select_SUITE:huge;stress kill;' 'half of the long cases can be requested'
asked slow:select 'ct select_SUITE:large,huge;' 'one of them can be named'

# --- a second run -------------------------------------------------------------

# Each of these tests fails in the first run, and would pass in a second run.
second() { # NAME COMMANDS [COMMAND]
	script "$1" "[ -e $tree/build/$1 ] && exec ${3:-true}; touch $tree/build/$1; $2"
}
second pauses 'exit 1'
# shellcheck disable=SC2016  # $ is for the script
second seeded 'echo INVISO_SEED=17; exit 1' 'test "$INVISO_SEED" = 17'
second faulty 'echo ERROR: AddressSanitizer: planted; exit 1'
second killed 'kill -SEGV $$'
script always 'exit 1'

rerun() { # MAX NAME...
	max=$1
	shift
	rm -rf "$dir/second" "$tree"/build/pauses "$tree"/build/seeded "$tree"/build/faulty "$tree"/build/killed
	mkdir -p "$dir/second/cli"
	for name; do
		(cd "$tree" && INVISO_ROOT=$tree LOGS=$dir/second "$root/test/job" cli "$name") >"$dir/out" 2>&1
	done
	(cd "$tree" && INVISO_ROOT=$tree LOGS=$dir/second "$root/test/rerun" "$max") >"$dir/out" 2>&1
	awk '{ printf "%s %s%s ", $2, $3, $4 }' "$dir/second/results"
	tr '\n' ' ' <"$dir/second/flaky"
}
same() { # GOT WANTED WHAT
	[ "$1" = "$2" ]
	point $? "$3"
	[ "$1" = "$2" ] || echo "# got: $1"
}
same "$(rerun 2 good pauses)" 'good 20 pauses 10 cli:pauses ' 'a test that passes the second time is flaky'
same "$(rerun 2 always)" 'always 01 ' 'a test that fails twice has failed'
same "$(rerun 2 seeded)" 'seeded 10 cli:seeded ' 'the second run has the seed of the first'
same "$(rerun 2 faulty)" 'faulty 01 ' 'the report of a sanitizer is a failure at once'
same "$(rerun 2 killed)" 'killed 01 ' 'and so is a crash'
same "$(rerun 1 pauses seeded)" 'pauses 01 seeded 01 ' 'no test runs a second time if more tests failed than allowed'

# --- suites -------------------------------------------------------------------

if ! command -v erl >/dev/null; then
	echo "1..$n"
	exit $bad
fi

suite() { # NAME TEXT
	printf -- '-module(%s_SUITE).\n-compile([export_all, nowarn_export_all]).\n%s\n' "$1" "$2" >"$dir/$1_SUITE.erl"
}

suite ends '
suite() -> [{timetrap, {seconds, 15}}].
all() -> [good, crashes, throws, exits, fails, hangs, dies, no_init, skips, skips_and_crashes, skips_and_throws].
init_per_testcase(no_init, _) -> error(planted);
init_per_testcase(_, Config) -> Config.
end_per_testcase(good, _) -> ok;
end_per_testcase(skips, _) -> ok;
end_per_testcase(skips_and_crashes, _) -> error(planted);
end_per_testcase(skips_and_throws, _) -> throw(planted);
end_per_testcase(crashes, _) -> error(planted);
end_per_testcase(throws, _) -> throw(planted);
end_per_testcase(exits, _) -> exit(planted);
end_per_testcase(fails, _) -> {fail, planted};
end_per_testcase(hangs, _) -> receive after infinity -> ok end;
end_per_testcase(dies, _) -> spawn_link(fun() -> exit(planted) end), receive after infinity -> ok end.
good(_) -> ok.
crashes(_) -> ok.
throws(_) -> ok.
exits(_) -> ok.
fails(_) -> ok.
hangs(_) -> ok.
dies(_) -> ok.
no_init(_) -> ok.
skips(_) -> {skip, planted}.
skips_and_crashes(_) -> {skip, planted}.
skips_and_throws(_) -> {skip, planted}.'
suite suite_ends '
all() -> [good].
init_per_suite(Config) -> Config.
end_per_suite(_) -> error(planted).
good(_) -> ok.'
suite suite_fails '
all() -> [good].
init_per_suite(Config) -> Config.
end_per_suite(_) -> {error, planted, twice}.
good(_) -> ok.'
suite suite_begins '
all() -> [one, two].
init_per_suite(_) -> error(planted).
one(_) -> ok.
two(_) -> ok.'
suite group_ends '
all() -> [{group, g}].
groups() -> [{g, [], [good]}].
init_per_group(_, Config) -> Config.
end_per_group(_, _) -> error(planted).
good(_) -> ok.'
# Nodes that the case has stopped or killed, and one that died by itself.
suite nodes '
-define(LIB, inviso_test_lib).
all() -> [stopped, killed, died, died_before_its_end].
a_node(Config) -> ?LIB:start_alone(proplists:get_value(priv_dir, Config)).
kill(#{os_pid := Pid}) -> [] = os:cmd("kill -9 " ++ Pid).
stopped(Config) -> Node = a_node(Config), ?LIB:stop_node(Node), ?LIB:stop_node(Node).
killed(Config) -> Node = a_node(Config), kill(Node), ?LIB:forget_node(Node), ?LIB:stop_node(Node).
died(Config) -> Node = a_node(Config), kill(Node), ?LIB:stop_node(Node).
died_before_its_end(Config) -> put(node, a_node(Config)), kill(get(node)).
end_per_testcase(died_before_its_end, _) -> inviso_sessions_lib:nothing_left([{node, get(node)}]);
end_per_testcase(_, _) -> ok.'
# A node crashes while no case needs it; its exit status shows the crash.
suite crash '
all() -> [crashes].
crashes(_) ->
    #{os_pid := Pid, keeper := Keeper} = inviso_stock_node:start("/tmp", #{name => none}),
    [] = os:cmd("kill -SEGV " ++ integer_to_list(Pid)),
    Gone = fun() -> process_info(Keeper, current_function) =:= {current_function, {inviso_stock_node, ended, 2}} end,
    inviso_test_lib:wait_until(Gone).'

if ! erlc -o "$beams" "$dir"/*_SUITE.erl test/ct/inviso_ct_hook.erl test/ct/inviso_test_lib.erl \
	test/ct/inviso_node_pool.erl test/ct/inviso_sessions_lib.erl test/ct/inviso_stock_node.erl \
	>"$dir/out" 2>&1; then
	sed 's/^/# /' "$dir/out"
	echo 'not ok 1 - the planted suites compile'
	exit 1
fi
counted ct ends_SUITE '1 9 1' 'a case fails that crashes or hangs when it begins or ends'
counted ct suite_ends_SUITE '1 1 0' 'the crash of end_per_suite is a failure'
counted ct suite_fails_SUITE '1 1 0' 'an error that end_per_suite returns is a failure'
counted ct group_ends_SUITE '1 1 0' 'the crash of end_per_group is a failure'
counted ct suite_begins_SUITE '0 2 0' 'the crash of init_per_suite is a failure of each case'
counted ct nodes_SUITE '2 2 0' 'a case fails if its node dies and the case did not kill the node'
counted ct crash_SUITE '1 1 0' 'a node that crashes when no case needs it is a failure'
counted ct good_SUITE '0 1 0' 'a suite that does not exist is a failure'
counted ct ends_SUITE:nothing '0 1 0' 'a case that does not exist is a failure'

# test/slow.list names two of the four cases.
echo 'ct nodes_SUITE:killed,died' >"$tree/test/slow.list"
cp test/slow "$tree/test"
: >"$dir/logs/results"
INVISO_WITHOUT_SLOW=all
export INVISO_WITHOUT_SLOW
counted ct nodes_SUITE '1 1 0' 'the long cases of a suite can be left out'
counted ct nodes_SUITE:1of1 '1 1 0' 'the long cases of a part of a suite can be left out'
counted ct nodes_SUITE:killed '1 0 0' 'a long case that is named runs'
INVISO_WITHOUT_SLOW=1
: >"$dir/logs/results"
counted ct nodes_SUITE '2 1 0' 'half of the long cases can be left out'
unset INVISO_WITHOUT_SLOW

# The VM crashes after the last case.
printf '#!/bin/sh\necho ct-counts 2 0 0\nkill -SEGV $$\n' >"$tree/bin/erl"
chmod +x "$tree/bin/erl"
PATH=$tree/bin:$PATH
counted ct vm_SUITE '2 1 0' 'a VM that crashes after the last case is a failure'

echo "1..$n"
exit $bad
