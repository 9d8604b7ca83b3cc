#!/bin/sh
# Runs the Common Test suites on other OTP releases, with the products of this
# machine: the NIFs, the spooler and the beams that the oldest release has made
# must work with newer releases. `make matrix` calls this after building.
#
#   tools/matrix.sh [SUITE...]    Debian suites, the newest last; default: trixie (OTP 27) and
#                                 forky (OTP 29)
#
# Each release has a chroot (tools/chroot.sh) with a copy of the tree. It runs
# test/run in its own name spaces, at the same time as other releases. Processes
# and mounts that tests leave end with the name spaces, even after kill -9. Then
# this machine's release loads the beams that the other release has compiled.
# Results are in build/matrix/SUITE/. ONLY='ct:NAME' runs only these tests, and
# JOBS=N runs N of them at a time.
#
# At the end commands trace a cluster with a node of each release, and follow
# requests that pass all its nodes (tools/matrix-mixed.sh; ONLY=mixed runs only
# this).
#
# Last line: N passed, N failed[, N skipped].
set -u
cd "$(dirname "$0")/.." || exit 1

# The number of jobs for each release; all releases run at once.
JOBS=${JOBS:-$((3 * $(nproc)))}
export JOBS

passed=0 failed=0 skipped=0

skip() { # SUITE WHY
	printf 'SKIPPED: matrix %s: %s\n' "$1" "$2"
	skipped=$((skipped + 1))
}

fail() {
	printf '  FAILED  %s\n' "$*"
	failed=$((failed + 1))
}

run_in() { # SUITE CHROOT
	results=$(pwd)/build/matrix/$1
	rm -rf "$results"
	mkdir -p "$results"
	# The last release is the newest. It runs more suites (test/ct/once.list).
	INVISO_MATRIX=other
	[ "$1" != "${suites##* }" ] || INVISO_MATRIX=newest
	export INVISO_MATRIX
	# shellcheck disable=SC2086  # words
	exec unshare --mount --pid --net --ipc --fork --kill-child \
		sh tools/matrix-inside.sh "$2" "$results" ${ONLY:-ct} \
		>"$results/output" 2>&1 </dev/null
}

report() { # SUITE
	results=$(pwd)/build/matrix/$1
	echo "== matrix $1"
	sed 's/^/  /' "$results/output"
	add_counts "$results/output" "$1"
	count_loads "$1" there "beams of this machine's release"
	load_newer_beams "$1"
}

add_counts() { # OUTPUT SUITE
	last=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$1" | tail -n 1)
	if [ -z "$last" ]; then
		fail "matrix $2: the run did not finish"
		return
	fi
	# shellcheck disable=SC2046  # three numbers
	set -- $(echo "$last" | sed 's/[^0-9]/ /g')
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0}))
}

# Counts the results of tools/load-beams.escript.
count_loads() { # SUITE here|there WHAT
	log=$results/load-$2.log
	ok=$(grep -c '^ok ' "$log") not_ok=$(grep -c '^not ok ' "$log")
	passed=$((passed + ok)) failed=$((failed + not_ok))
	if [ "$not_ok" -gt 0 ]; then
		printf '  FAILED  matrix %s: %s do not load %s:\n' "$1" "$3" "$2"
		sed '/^ok /d; /^$/d; s/^/          | /' "$log"
	elif [ "$ok" -eq 0 ]; then
		fail "matrix $1: $3 were not loaded $2: $(tail -n 1 "$log")"
	else
		printf '  ok      %s load %s: %d\n' "$3" "$2" "$ok"
	fi
}

load_newer_beams() { # SUITE
	for source in src/*/*.erl; do
		[ -e "$source" ] || continue
		[ -e "$results/ebin/$(basename "$source" .erl).beam" ] ||
			fail "matrix $1: erlc there does not compile $source: $results/erlc.log"
	done
	{ grep 'will not load' "$results/erlc.log"
	  escript tools/load-beams.escript "$results/ebin"; } >"$results/load-here.log" 2>&1
	count_loads "$1" here 'beams of that release'
}

# Counts each test point in the output.
mixed() { # CHROOT...
	log=build/matrix/mixed
	timeout -k 10 600 unshare --mount --pid --net --fork --kill-child \
		sh tools/matrix-mixed.sh "$@" >"$log" 2>&1 </dev/null
	m_status=$?
	ok=$(grep -c '^ok ' "$log") not_ok=$(grep -c '^not ok ' "$log")
	passed=$((passed + ok)) failed=$((failed + not_ok))
	if [ $m_status -ne 0 ]; then
		[ "$not_ok" -gt 0 ] || fail "mixed: the run did not finish"
		sed 's/^/          | /' "$log"
	else
		printf '  ok      mixed: %d passed\n' "$ok"
	fi
}

suites=${*:-trixie forky}
chroots='' running='' making=''
mkdir -p build/matrix
for suite in $suites; do
	tools/chroot.sh "$suite" >"build/matrix/$suite.chroot" 2>"build/matrix/$suite.why" &
	making="$making $suite:$!"
done
for suite in $making; do
	wait "${suite#*:}"
	made=$?
	suite=${suite%:*}
	chroot=$(cat "build/matrix/$suite.chroot") why=build/matrix/$suite.why
	case $made in
	0)
		chroots="$chroots $chroot"
		[ "${ONLY:-}" != mixed ] || continue
		echo "matrix $suite: started"
		run_in "$suite" "$chroot" &
		running="$running $suite:$!"
		;;
	77) skip "$suite" "$(cat "$why")" ;;
	*) skip "$suite" "its chroot could not be made: $(tail -n 1 "$why")" ;;
	esac
done
for suite in $running; do
	wait "${suite#*:}"
	report "${suite%:*}"
done

case ${ONLY:-mixed} in
*mixed*)
	echo '== matrix mixed'
	if [ -n "$chroots" ]; then
		# shellcheck disable=SC2086  # words
		mixed $chroots
	else
		skip mixed 'there is no chroot'
	fi
	;;
esac

printf '%d passed, %d failed' $passed $failed
if [ $skipped -gt 0 ]; then printf ', %d skipped' $skipped; fi
echo
[ $failed -eq 0 ]
