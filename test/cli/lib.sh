# shellcheck shell=sh
# Common code of the tests in this directory. A test sources it in the tree,
# and ends with `summary'.
#
#   root     the tree
#   dir      an empty directory, removed at the end
#   inviso   the command
set -u
root=$PWD
inviso=${INVISO_PRIV:-priv}/inviso
case $inviso in /*) ;; *) inviso=$root/$inviso ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

n=0 bad=0

# ok WHAT COMMAND...: a test point, which passes if the command succeeds.
ok() {
	what=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $what"
	else
		[ ! -s "$dir/log" ] || sed 's/^/# /' "$dir/log"
		echo "not ok $n - $what"
		bad=1
	fi
}

skip() { # WHAT REASON
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# status N COMMAND...: succeeds if the command exits with N; its output is in
# out and err.
status() {
	expected=$1
	shift
	"$@" >out 2>err
	got=$?
	[ "$got" = "$expected" ] || { echo "# status $got of: $*"; cat err; return 1; }
}

# works COMMAND...: runs a command without input; ok prints its output if the
# point fails.
works() { "$@" >"$dir/log" 2>&1 </dev/null; }

says() { grep -qF -- "$2" "$1"; } # FILE TEXT

# Removes all cookies from the environment, so that each test gives its own.
no_cookie() {
	HOME=$dir
	export HOME
	unset INVISO_COOKIE INVISO_NODE RELEASE_COOKIE RELEASE_NODE RELEASE_DISTRIBUTION
	unset XDG_CONFIG_HOME NO_COLOR
}

summary() {
	echo "1..$n"
	exit "$bad"
}
