#!/bin/sh
# Starts a cluster with a node of this machine's OTP release and a node of each
# chroot's release. The command must show the events of all nodes in the order of
# time, must record or count each event, and must follow requests through all
# nodes.
#
#   unshare --mount --pid --net --fork --kill-child \
#       sh tools/matrix-mixed.sh CHROOT...
#
# tools/matrix.sh calls it in this way. Its processes and mounts end with the name
# spaces. Prints TAP.
# shellcheck disable=SC2317  # functions that until_so calls
set -u
inviso=$(pwd)/priv/inviso
tools=$(pwd)/tools
shop=$(pwd)/test/ct/inviso_seq_work.erl
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
INVISO_COOKIE=mixed
export INVISO_COOKIE

mount --make-rprivate /
mount -t proc proc /proc
ip link set lo up
cd "$work" || exit 1

n=0 bad=0
ok() { # STATUS WHAT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		bad=1
		sed 's/^/# /' out err 2>/dev/null | tail -n 40
	fi
}

# Waits until a command succeeds, for at most a minute.
until_so() { # COMMAND...
	tries=600
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

# The program of each node. A file with the name of a step starts the step: "go"
# makes calls, "meet" connects the node to the others, "ask" makes checkouts (only on
# the first node), and "check" waits until nothing of inviso is left, because code
# that was pushed twice stays loaded for some seconds
# (docs/decisions/0514-code-that-lingers.md). After each step the program writes a
# file that lists what inviso has left: modules, a system tracer, tokens. Each release
# compiles the shop itself.
calls=200000
program='
{ok, Shop, Beam} = compile:file("shop.erl", [binary]),
{module, Shop} = code:load_binary(Shop, "shop.erl", Beam),
[Shop:start(P) || P <- [shop, stock]],
Wait = fun Wait(File) -> case file:delete(File) of
    ok -> ok; _ -> timer:sleep(20), Wait(File) end end,
Others = fun() -> {ok, Ns} = file:consult("others"), Ns end,
Left = fun() ->
    [M || {M, _} <- code:all_loaded(), M =/= Shop,
          lists:prefix("inviso", atom_to_list(M))]
    ++ [T || T <- [seq_trace:get_system_tracer()], T =/= false]
    ++ Shop:tokens() end,
Gone = fun Gone(Tries) -> case Left() of
    [_ | _] when Tries > 0 -> timer:sleep(100), Gone(Tries - 1);
    _ -> ok end end,
Say = fun(File) ->
    ok = file:write_file(File ++ "+", io_lib:format("~w~n", [Left()])),
    ok = file:rename(File ++ "+", File) end,
spawn(fun() -> L = fun L(N) -> lists:seq(N, N + 3), timer:sleep(5), L(N + 1)
    end, L(1) end),
spawn(fun() -> Say("up"), Wait("go"),
    lists:foreach(fun lists:last/1, lists:duplicate('$calls', [1])),
    Say("finished"), Wait("meet"), [pong = net_adm:ping(N) || N <- Others()],
    Say("met"), Wait("ask"),
    case Others() of
        [First, Second | _] = All when First =:= node() ->
            Shop:checkouts([1], {Second, lists:last(All)}),
            Shop:checkouts([2], {Second, lists:last(All)});
        _ -> ok
    end,
    Say("answered"), Wait("check"), Gone(300), Say("checked") end).'

start() { # NAME DIRECTORY COMMAND...
	name=$1 dir=$2
	shift 2
	names="$names$comma$name@127.0.0.1" comma=,
	dirs="$dirs $dir"
	cp "$shop" "$dir/shop.erl"
	# shellcheck disable=SC2086  # not the words of ours
	( cd "$dir" && exec "$@" -noinput -name "$name@127.0.0.1" \
		-setcookie mixed -eval "$program" >"$work/$name.out" 2>&1 ) &
}

names='' dirs='' comma='' count=1
mkdir here
TMPDIR=$work/here start here "$work/here" erl
for root; do
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/tmp"
	count=$((count + 1))
	start "n$count" "$root/tmp" chroot "$root" /usr/bin/env -i HOME=/tmp \
		LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		sh -c 'cd /tmp && exec erl "$@"' erl
done

printf '%s\n' "$names" | sed "s/[^,]*/'&'./g; s/,/ /g" >others
for dir in $dirs; do cp others "$dir/others"; done

node() { # N: prints the name of the Nth node
	printf '%s\n' "$names" | cut -d , -f "$1"
}
all_say() { # FILE
	for dir in $dirs; do [ -e "$dir/$1" ] || return 1; done
}
tell_all() { # FILE
	for dir in $dirs; do : >"$dir/$1"; done
}
all_trace() {
	timeout 60 "$inviso" status -n "$names" --json >out 2>err &&
	[ "$(grep -c '"state":"tracing"' out)" -eq "$count" ]
}
number() { # KEY: prints the number with this key in the last line of out
	sed -n '$s/.*"'"$1"'":\([0-9]*\).*/\1/p' out
}

until_so all_say up
ok $? "$count nodes of different releases are up"

timeout 60 "$inviso" status -n "$names" --json >out 2>err
ok $? 'status of all nodes'
[ "$(sed -n 's/.*"otp":"\([0-9]*\).*/\1/p' out | sort -u | wc -l)" -eq $count ]
ok $? "they are of $count releases"

timeout 60 "$inviso" trace -n "$names" --events $((count * 100)) --json \
	'lists:seq/2' >out 2>err
ok $? 'trace on all nodes'
[ "$(wc -l <out)" -eq $((count * 100)) ]
ok $? 'shows the requested number of events'
[ "$(sed -n 's/.*"node":"\([^"]*\).*/\1/p' out | sort -u | wc -l)" -eq $count ]
ok $? 'shows events of all nodes'
sed 's/^{"ts":\([0-9]*\).*/\1/' out | sort -nc
ok $? 'shows them in the order of time'

"$inviso" record -n "$names" --for 150s --json -o logs \
	"lists:last/1 [{'_',[],[]}]" >record.out 2>record.err &
record=$!
until_so all_trace
ok $? 'record on all nodes'
tell_all go
until_so all_say finished
ok $? 'all nodes make their calls'
kill -TERM $record
wait $record
status=$?
cp record.out out
cp record.err err
[ $status -eq 0 ] || [ $status -eq 7 ]
ok $? 'the recording ends when told to'
recorded=$(number recorded) lost=$(number lost)
[ "$(number produced)" -eq $((count * calls)) ] &&
	[ $((recorded + lost)) -eq $((count * calls)) ]
ok $? "it counts the $((count * calls)) calls that were made"
timeout 200 "$inviso" merge -f json -o merged logs/*.log 2>err
[ $? -eq $status ] && [ "$(grep -c '"tag":' merged)" -eq "$recorded" ]
ok $? 'one timeline has all recorded calls'
sed -n 's/^{"ts":\([0-9]*\).*/\1/p' merged | sort -nc
ok $? 'the timeline is in the order of time'

. "$tools/matrix-mixed-seq.sh"

tell_all check
until_so all_say checked
for dir in $dirs; do
	[ "$(cat "$dir/checked")" = '[]' ] || echo "$dir has $(cat "$dir/checked")"
	find "$dir" -name 'inviso*'
done >out
[ ! -s out ]
ok $? 'nothing of inviso is left on the nodes'

echo "1..$n"
# The nodes end with their name space, which ends with this process.
exit $bad
