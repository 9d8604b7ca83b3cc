#!/bin/sh
# `inviso ms`: explanations, results and errors; and merge --filter.
# shellcheck source=lib.sh
. test/cli/lib.sh
frozen=$root/test/frozen/1
cd "$dir" || exit 1

is() { # FILE LINE...
	file=$1
	shift
	printf '%s\n' "$@" | diff - "$file"
}

ok 'help is there' status 0 "$inviso" ms --help
ok 'and has examples' says out 'Examples:'
ok 'without a spec: usage' status 2 "$inviso" ms
ok 'with too much: usage' status 2 "$inviso" ms '[]' '[]' '[]'
ok 'a wrong release: usage' status 2 "$inviso" ms --release 24 '[]'
ok 'it says which there are' says err '--release 24: not one of 25 to 29'
ok 'a wrong event: usage' status 2 "$inviso" ms --event gc '[]'

spec='[{['"'"'$1'"'"',b],[{'"'"'>'"'"','"'"'$1'"'"',1}],[{return_trace},{message,{{x,'"'"'$1'"'"'}}}]}]'
ok 'a spec is explained' status 0 "$inviso" ms "$spec"
ok 'clause by clause' is out 'clause 1: 2 arguments: $1, b' '  when    $1 > 1' \
	'  does    return_trace()' '          message({x, $1})'
ok 'with its code' status 0 "$inviso" ms -d "$spec"
ok 'which ends' says out '  END'
ok 'a spec is run' status 0 "$inviso" ms "$spec" '[5,b]'
ok 'and answers' is out 'clause 1 matches' 'result: {x,5}  (is added to the event)' \
	'return_trace: its return, but no exception that ends it, is traced'
ok 'no clause matches: 5' status 5 "$inviso" ms "$spec" '[0,b]'
ok 'as JSON' status 0 "$inviso" ms --json "$spec" '[5,b]'
ok 'one object' is out '{"ok":true,"matched":true,"clause":1,"result":"{x,5}","flags":["return_trace"]}'
printf '%s' "$spec" >spec
ok 'a spec in a file' status 0 "$inviso" ms -f spec '[5,b]'
ok 'a file that is not there' status 1 "$inviso" ms -f nofile '[5,b]'
ok 'says why' says err 'open nofile: No such file'

ok 'what a node may crash on' status 0 "$inviso" ms "[{'_',[],['\$_']},{[],[],['\$_']}]" '[]'
ok 'is warned of' says err "warning: clause 2 has '\$_' and no arguments: a node may crash"
ok 'a label that a node may crash on' status 0 "$inviso" ms "[{'_',[],[]},{['\$1'],[],[{set_seq_token,label,{{shop,'\$1'}}}]}]"
ok 'is warned of, too' says err 'warning: clause 2 sets a label that is not an atom or an integer'
ok 'any other label' status 0 "$inviso" ms "[{'_',[],[{set_seq_token,label,shop}]}]"
ok 'is not' test ! -s err
ok 'a wrong spec: 1' status 1 "$inviso" ms '[{_,[{nosuch,1}],[]}]'
ok 'in the words of the VM' says err 'Function nosuch/1 does_not_exist.'
ok 'what a later release has' status 1 "$inviso" ms --release 25 '[{_,[],[{ceil,1.5}]}]'
ok 'the error names the release' says err 'OTP 26 accepts it'
ok 'an action for calls' status 1 "$inviso" ms --event send '[{_,[],[{caller}]}]'
ok 'is none of a send' says err "Special form 'caller' not allow for this trace event."
ok 'what only a node knows' status 1 "$inviso" ms '[{_,[{is_pid,{hd,[{self}]}}],[]}]' '[]'
ok 'has no answer' says err 'depends on the process'
ok 'where the process does not matter' status 0 "$inviso" ms '[{_,[],[{message,{enable_trace,{self},call}}]}]' '[]'
ok 'there is an answer' is out 'clause 1 matches' 'result: true  (the event is traced unchanged)'
ok 'flags of another process' status 1 "$inviso" ms '[{_,[],[{message,{enable_trace,'"'\$1'"',call}}]}]' '[<0.1.2>]'
many() { # N: [#{1 => '$1',...,N => '$N'}]
	seq "$1" | sed "s/.*/&=>'\$&'/" | paste -sd, | sed 's/.*/[#{&}]/'
}
ok '415 variables' status 0 "$inviso" ms "[{$(many 415),[],[{message,'\$415'}]}]" "$(many 415 | sed "s/'\$\([0-9]*\)'/\1/g")"
ok 'have their values' says out 'result: 415'
ok 'too many of them' status 1 "$inviso" ms "[{$(many 1025),[],[]}]"
ok 'are refused' says err 'more than 1024 variables'
ok 'a term that is no list' status 1 "$inviso" ms '[{_,[],[]}]' foo
ok 'is refused' says err 'not a list of arguments'

ok 'a term that ends early' status 1 "$inviso" ms '[{_,[],[]}]' '[a,{b'
ok 'says where' says err "character 6: the text ends, but a tuple needs a '}'"
ok 'a variable' status 1 "$inviso" ms '[{_,[],[X]}]'
ok 'says how it is written' says err "'X' is a variable: match specs have '\$1'"
ok 'a fun' status 1 "$inviso" ms '[{_,[],[]}]' '[fun(X) -> X end]'
ok 'has no place' says err 'a term cannot have a fun'
ok 'all kinds of terms' status 0 "$inviso" ms "[{['\$1'],[],[{message,'\$1'}]}]" \
	'[{-1,16#ff,$a,1.5e-3,123456789012345678901234567890,"a\x{3b1}",'"'A b'"',<<1,2:3,"x">>,#{b=>[],a=>[x|y]},<0.1.2>,#Port<0.5>,#Ref<0.1.2.3>,fun m:f/2}]'
ok 'come out as they went in' says out \
	"result: {-1,255,97,0.0015,123456789012345678901234567890,[97,945],'A b',<<1,79,0:3>>,#{a => [x|y],b => []},<0.1.2>,#Port<0.5>,#Ref<0.1.2.3>,fun m:f/2}"

merge() { status 0 "$inviso" merge --filter "$1" "$frozen/nth.log" "$frozen/terms.log"; }
ok 'merge shows what a spec matches' merge "[{[_,call,{lists,nth,['\$1',_]}],[{'>','\$1',1}],[]}]"
ok 'with its end, and nothing else' says out '232 events recorded, 0 lost; 2 shown, 230 left out'
ok 'a head may be a tuple' merge '[{{_,call,_},[],[]}]'
ok 'with or without the result of {message, _}' says out '232 events recorded, 0 lost'
ok 'which can be asked for' merge '[{[_,call,_,{m,1}],[],[]}]'
ok 'in its place' says out '; 230 shown'
ok 'what a clause says no to' merge '[{[_,call|_],[],[{message,false}]},{_,[],[]}]'
ok 'is left out' says out '116 shown'
ok 'calls with conditions' merge 'lists:nth(N, [A|_]) when N + 2*3 =:= 8, is_atom(A)'
ok 'are matched' says out '; 2 shown'
ok 'what trace takes is explained, too' status 0 "$inviso" ms 'Shop.add(%{id: n}, _) when n > 9 -> return' '[#{id => 10},x]'
ok 'and run' says out 'clause 1 matches'
ok 'with its match spec' status 0 "$inviso" ms 'm:f(N, _) when N > 9'
ok 'of the arguments' is out 'traces: m:f/2' "spec:   [{['\$1','_'],[{'>','\$1',9}],[]}]" 'clause 1: 2 arguments: $1, _' '  when    $1 > 9'
ok 'or not: 5' status 5 "$inviso" merge --filter 'lists:nth(N, _) when N /= 2' "$frozen/nth.log" "$frozen/terms.log"
ok 'as it is asked' says out '; 0 shown'
ok 'a wrong filter: usage' status 2 "$inviso" merge --filter '[{a,[],[]}]' "$frozen/nth.log"
ok 'in words' says err '--filter: Match head is invalid in this context.'

summary
