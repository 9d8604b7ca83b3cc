# shellcheck shell=sh disable=SC2154  # variables of tools/matrix-mixed.sh
# Tests requests that pass the nodes of a cluster of several releases.
# tools/matrix-mixed.sh reads this file when its cluster is up. The first node
# makes checkouts (test/ct/inviso_seq_work.erl). For each checkout it asks the
# process shop on the second node, and shop asks the process stock on the last node.
requests=2
beams=$tools/../build/release/ct

merge() { # ARGUMENT...
	timeout 60 "$inviso" merge -q "$@" 2>err
}
check_requests() { # ARGUMENT...
	escript "$tools/check-requests.escript" "$beams" "$@" >out 2>err
}
with_last() { # AHEAD: prints by how much the clock of each node is ahead
	printf '%s=0\n' "$names" | sed 's/,/=0,/g; s/=0$/='"$1"'/' | tr , '\n'
}
first=$(node 1) second=$(node 2) last=$(node "$count")

tell_all meet
until_so all_say met
ok $? 'the nodes are connected'
timeout 100 "$inviso" seq -n "$names" --for 90s --requests $requests \
	--reset-all-tokens -o seq.log 'inviso_seq_work:checkout/2' >tree 2>seq.err &
seq=$!
until_so all_trace
ok $? 'seq on all nodes'
tell_all ask
until_so all_say answered
ok $? 'the first node makes its checkouts'
wait $seq
status=$?
cp tree out
cp seq.err err
[ $status -eq 0 ] && [ "$(grep -c '^request [12], label .*, began' tree)" -eq $requests ]
ok $? "seq ends with the trees of $requests requests"
[ "$(grep -c "3 processes, $count nodes, 4 messages" tree)" -eq $requests ]
ok $? "each has the processes of $count nodes"

merge --json -o events seq-*.log &&
	check_requests events events $requests "$first" "$second" "$last"
ok $? 'the events are in causal order'
# shellcheck disable=SC2046  # words
merge --json -o events --summary json seq-*.log >clocks &&
	check_requests clocks clocks $(with_last 0)
ok $? 'the difference of the clocks is within the intervals'

# A clock that is an hour ahead.
hour=3600000000000
# shellcheck disable=SC2046  # words
"$beams/log_warp" "seq-$last.log" ahead.log $hour 0 0 0 0 >out 2>err &&
	mv ahead.log "seq-$last.log" &&
	merge --json -o events --summary json seq-*.log >clocks &&
	check_requests clocks clocks $(with_last $hour)
ok $? 'the same with the last clock an hour ahead'
check_requests events events $requests "$first" "$second" "$last"
ok $? 'the events are in causal order, and none is earlier than its cause'
