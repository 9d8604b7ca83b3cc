#!/bin/sh
# Tests the README. Each command of "A session" is run on a node like the
# README's, and must print the README's output, except for times and numbers.
# Each command of the cheat sheet and the phrasebook must work, too; `inviso
# trace' runs with --dry-run.
# shellcheck source=lib.sh
. test/cli/lib.sh
PATH=${inviso%/*}:$PATH
readme=$root/README.md
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

# Splits the session: file I has command I and its output.
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
		-e 's/"ts":[0-9]+,"time":"[^"]*"/"ts":N/' -e 's/<0\.[0-9]+\.0>/<0.N.0>/g' \
		-e 's/<0\.[0-9]+\.0>/PID/g' -e 's/\([0-9.]+ [um]?s\)/(TIME)/' \
		-e 's/[0-9]+ events? recorded/N events recorded/' \
		-e 's/, [0-9]+ came after the limit//' \
		-e 's/[0-9.]+ [KM]?i?B in/N in/' -e 's/os pid [0-9]+/os pid N/' \
		-e 's/OTP [0-9]+ \(erts [0-9.]+\)/OTP N/' -e 's/[0-9]+ processes/N processes/'
}

# The session shows those lines of standard error that begin with the command's
# name, but not the line about a bug of the node's release.
of_err() { grep '^inviso [a-z]*: ' | grep -v 'inviso [a-z]*: [^ ]*: OTP '; }

await_node() { # NAME
	i=0
	until inviso status -n "$1" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 150 ] || break
		sleep 0.2
	done
}

if ! command -v erl >/dev/null; then
	echo '1..0 # SKIP no erl here'
	exit 0
fi
for part in [0-9][0-9]; do
	command=$(sed -n '1s/^\$ //p' "$part" | sed "s/-n shop/-n $shop/; s/-sname shop/-sname $shop -setcookie $INVISO_COOKIE/")
	case $command in
	*'&')
		# The node has a deadline of its own, in case this script is
		# killed.
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
	diff expected got >log || cat err >>log
	ok "$command" cmp -s expected got
done
ok 'the README has a session' [ "$n" -ge 6 ]

# --- cheat sheet and phrasebook ----------------------------------------------

# A node with the modules and processes that the rows name.
cat >shop_cart.erl <<'END'
-module(shop_cart).
-export([start/0, add/2, checkout/2, handle_call/3]).
start() -> [register(Name, spawn(fun() -> timer:sleep(infinity) end))
            || Name <- [cart_server, user_drv], whereis(Name) =:= undefined].
add(Cart, N) -> [N | Cart].
checkout(Cart, _) -> Cart.
handle_call(_, _, S) -> {reply, ok, S}.
END
printf -- '-module(shop_db).\n-record(order, {id}).\n-export([f/1]).\nf(#order{id = X}) -> X.\n' >shop_db.erl
echo '{application, shop, [{vsn, "1"}, {registered, []}, {applications, []}, {modules, [shop_cart]}]}.' >shop.app
if command -v elixirc >/dev/null; then
	echo 'defmodule Shop.Cart do def add(cart, n), do: [n | cart] end' >cart.ex
	elixirc cart.ex >log 2>&1 || bad=1
else
	sed "s/shop_cart/'Elixir.Shop.Cart'/" shop_cart.erl >Elixir.Shop.Cart.erl
	erlc Elixir.Shop.Cart.erl
fi
printf -- '-module(m).\n-record(rec, {a}).\n-export([f/1, f/2]).\nf(#rec{a = X}) -> X.\nf(X, Y) -> {X, Y}.\n' >m.erl
erlc +debug_info shop_cart.erl shop_db.erl m.erl
sheet=sheet$$
timeout 300 erl -noinput -sname "$sheet" -setcookie "$INVISO_COOKIE" \
	-eval 'shop_cart:start(), application:load(shop), [code:ensure_loaded(M) || M <- [m, '"'Elixir.Shop.Cart'"']].' \
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
		sed "s/-n shop\( \|$\)/-n $sheet\1/; s/-n web,shop,db/-n $sheet/; s/--dns shop[a-z.]*/--dns $sheet@localhost/; s/^inviso \(trace\|seq\|count\|hist\)/& --dry-run/; s/^inviso flame/& --for 1s/; s/^inviso top/& --once --every 500ms/; s/^inviso export/& --retry 0/; s/<0\.88\.0>/<0.1.0>/; s/\(--from\) [0-9:]*/\1 00:00:00/")
	eval "$command" >out 2>log
	# Status 5: the recording may have no event that the options select, and
	# on the idle node there may be no process that runs. Status 3: there is
	# no collector.
	case $?:$command in
	0:* | 5:'inviso merge --'* | 5:'inviso flame '* | [35]:'inviso export '*) ok "$command" true ;;
	*) ok "$command" false ;;
	esac
done 3<rows
ok 'the README has a cheat sheet' [ "$rows" -ge 20 ]
summary
