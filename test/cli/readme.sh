#!/bin/sh
# The README: each command of its session is run, on a node like the one there,
# and must print what is shown, times and numbers aside. Each command of the cheat
# sheet and the phrasebook must work, too: those that trace with --dry-run.
set -u
priv=${INVISO_PRIV:-priv}
case $priv in /*) ;; *) priv=$PWD/$priv ;; esac
PATH=$priv:$PATH
readme=$PWD/README.md
dir=$(mktemp -d) || exit 1
cd "$dir" || exit 1
shop=shop$$
INVISO_COOKIE=readme$$ TZ=UTC
export PATH INVISO_COOKIE TZ
unset NO_COLOR

nodes=
leave() {
	# shellcheck disable=SC2086  # words
	[ -z "$nodes" ] || kill $nodes 2>/dev/null
	rm -rf "$dir"
}
trap leave EXIT
trap 'exit 1' INT TERM

# What the session shows: part I is command I, then what it prints.
awk '/^## /	{ on = $0 == "## A session" }
     /^```/	{ block = !block; next }
     on && block {
	if (/^\$ /)
		out = sprintf("%s/%02d", dir, ++n)
	print > out
     }' dir=. "$readme"

alike() {
	sed -E -e "s/$shop/shop/g" -e 's/@[A-Za-z0-9._-]+/@host/g' \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{6}/TIME/' \
		-e 's/"ts":[0-9]+/"ts":N/' -e 's/<0\.[0-9]+\.0>/<0.N.0>/g' \
		-e 's/<0\.[0-9]+\.0>/PID/g' -e 's/\([0-9.]+ [um]?s\)/(TIME)/' \
		-e 's/[0-9]+ events? recorded/N events recorded/' \
		-e 's/, [0-9]+ came after the limit//' \
		-e 's/[0-9.]+ [KM]?i?B in/N in/' -e 's/os pid [0-9]+/os pid N/' \
		-e 's/OTP [0-9]+ \(erts [0-9.]+\)/OTP N/' -e 's/[0-9]+ processes/N processes/'
}

# What the session shows of standard error begins with the command's name. What
# is said of the release of the node alone it does not show.
of_err() { grep '^inviso [a-z]*: ' | grep -v 'inviso [a-z]*: [^ ]*: OTP '; }

await_node() { # NAME
	i=0
	until inviso status -n "$1" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 150 ] || break
		sleep 0.2
	done
}

n=0 bad=0
point() { # OK WHAT
	n=$((n + 1))
	if "$1"; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		bad=1
	fi
}

if ! command -v erl >/dev/null; then
	echo '1..0 # SKIP no erl here'
	exit 0
fi
for part in [0-9][0-9]; do
	command=$(sed -n '1s/^\$ //p' "$part" | sed "s/-n shop/-n $shop/; s/-sname shop/-sname $shop -setcookie $INVISO_COOKIE/")
	case $command in
	*'&')
		# Ends by itself, should we not live to end it.
		eval "exec timeout 300 ${command%&}" >/dev/null 2>&1 &
		nodes=$!
		await_node "$shop"
		continue
		;;
	esac
	eval "$command" >out 2>err
	sed 1d "$part" | alike >shown
	{ of_err <shown; grep -v '^inviso [a-z]*: ' shown; } >expected
	{ of_err <err; cat out; } | alike >got
	if diff expected got >difference; then
		point true "$command"
	else
		sed 's/^/# /' difference err
		point false "$command"
	fi
done
[ $n -ge 6 ] || point false 'the README has a session'

# --- cheat sheet and phrasebook ----------------------------------------------

# A node that has what the rows name.
cat >shop_cart.erl <<'END'
-module(shop_cart).
-export([start/0, add/2]).
start() -> [register(Name, spawn(fun() -> timer:sleep(infinity) end))
            || Name <- [cart_server, user_drv], whereis(Name) =:= undefined].
add(Cart, N) -> [N | Cart].
END
sed "s/shop_cart/'Elixir.Shop.Cart'/" shop_cart.erl >Elixir.Shop.Cart.erl
printf -- '-module(m).\n-export([f/1, f/2]).\nf(X) -> X.\nf(X, Y) -> {X, Y}.\n' >m.erl
erlc shop_cart.erl Elixir.Shop.Cart.erl m.erl
sheet=sheet$$
timeout 300 erl -noinput -sname "$sheet" -setcookie "$INVISO_COOKIE" \
	-eval 'shop_cart:start(), [code:ensure_loaded(M) || M <- [m, '"'Elixir.Shop.Cart'"']].' \
	>/dev/null 2>&1 &
nodes="$nodes $!"
await_node "$sheet"
has_stack=$(erl -noinput -eval 'io:put_chars([$y || erlang:system_info(otp_release) > "25"]), halt().')

# The last cell of each row is a command in backquotes.
awk '/^## /	{ on = $0 == "## Cheat sheet" || $0 == "## If you know redbug or dbg" }
     on && /^\|.*`inviso [a-z]+ .*` \|$/ {
	gsub(/` \|$/, "")
	sub(/^.*`inviso /, "inviso ")
	print
     }' "$readme" >rows
rows=0
while read -r command <&3; do
	rows=$((rows + 1))
	case $command in
	*stack*) [ -n "$has_stack" ] || continue ;;
	esac
	command=$(printf '%s\n' "$command" |
		sed "s/-n shop\( \|$\)/-n $sheet\1/; s/^inviso trace/& --dry-run/; s/<0\.88\.0>/<0.1.0>/; s/\(--from\) [0-9:]*/\1 00:00:00/")
	eval "$command" >out 2>err
	# 5: this recording need not have what is picked out of it.
	case $?:$command in
	0:* | 5:'inviso merge --pid'*)
		point true "$command"
		;;
	*)
		sed 's/^/# /' err
		point false "$command"
		;;
	esac
done 3<rows
[ $rows -ge 20 ] || point false 'the README has a cheat sheet'
echo "1..$n"
exit $bad
