#!/bin/sh
# Tests tools/combine.escript: its result for the sources, that it refuses
# the name of a module where it cannot tell what the name is for, and that the
# build (inviso_push:build/3) differs if modules are combined in another way.
# Also tools/beam25.escript.
# shellcheck source=lib.sh
. test/cli/lib.sh

cp -R build/release/beams "$dir/ebin" && cp -R src "$dir" || exit 1
mkdir "$dir/out"
push=src/guest/inviso_push.erl

combines() {
	works escript tools/combine.escript "$dir/ebin" "$dir/out" "$dir"/src/*/*.erl
}

refused() { # TEXT
	! combines && says "$dir/log" "$1"
}

# with LINE COMMAND...: adds a line to inviso_push:attach/1, which runs on
# traced nodes, and runs the command.
with() {
	line=$1
	shift
	sed "s/^attach(Args) ->\$/attach(Args) -> $line,/" "$push" >"$dir/$push"
	! cmp -s "$push" "$dir/$push" &&
		works erlc -I src -I src/guest -I include +debug_info \
			+nowarn_unused_vars -o "$dir/ebin" "$dir/$push" &&
		"$@"
}

build_of() { # COMBINED: prints the build of a payload with these modules
	rm -rf "$dir/pushed" "$dir/payload"
	mkdir "$dir/pushed" "$dir/payload"
	works escript tools/payload.escript pushed "$1" "$dir/pushed" &&
		works escript tools/payload.escript command "$dir/ebin" "$dir/pushed" \
			priv/inviso_pushed.so priv/inviso_tracer.so \
			priv/inviso_engine.so priv/inviso_spool \
			"$dir/payload" &&
		cat "$dir/payload/build"
}

# Combines the room spec into another group.
combined_otherwise() { # DIRECTORY
	mkdir "$1"
	sed '/^-define(OWN,/s/meta =>/spec => inviso_rt, &/' tools/combine.escript >"$dir/combine.escript" &&
		works escript "$dir/combine.escript" "$dir/ebin" "$1" src/*/*.erl &&
		works tools/erlc25 -o "$1" +deterministic +no_line_info \
			+nowarn_unused_vars "$1"/*.abstr
}

made() { # MODULE FUNCTION
	grep -q "^{function,.*,'$2'," "$dir/out/$1.abstr"
}

# Calls tools/beam25.escript, with a beam_disasm that finds an instruction of
# OTP 26 in each beam, as if a later release had compiled it.
beam25() {
	mkdir "$dir/stub"
	printf '%s\n' '-module(beam_disasm).' '-export([file/1]).' \
		'file(_) -> {beam_file, m, [], [], [], [{function, f, 1, 2, [{label, 1}, {bs_match, x}, return]}]}.' \
		>"$dir/stub/beam_disasm.erl"
	works erlc -o "$dir/stub" "$dir/stub/beam_disasm.erl" || return 1
	cp "$dir/stub/beam_disasm.beam" "$dir/some.beam"
	! ERL_FLAGS="-pa $dir/stub" escript tools/beam25.escript "$dir/some.beam" >"$dir/log" 2>&1 &&
		cmp "$dir/stub/beam_disasm.beam" "$dir/some.beam" &&
		says "$dir/log" 'will not load on OTP 25' &&
		says "$dir/log" '{bs_match,{f,1}}'
}

ok 'the sources are combined' combines
ok 'a function has the name of its module' made inviso_tracer inviso_arm:plan
ok 'the engine is a part of the tracer' made inviso_tracer inviso_engine_server:run
now=$(build_of build/release/payload/combined)
ok 'the same code has the same build' [ "$now" = "$(cat build/release/payload/build)" ]
ok 'the modules can be combined in another way' combined_otherwise "$dir/otherwise"
other=$(build_of "$dir/otherwise")
ok 'this has a build' [ -n "$other" ]
ok 'which is another one' [ "$other" != "$now" ]
ok 'a name that may be one of a module is refused' \
	with '_ = {x, inviso_arm}' refused 'attach/1 mentions inviso_arm'
ok 'so is a term that may name a function' \
	with '_ = {inviso_arm, plan}' refused 'attach/1 mentions inviso_arm'
ok 'a process of a function that does not exist is refused' \
	with 'spawn(inviso_arm, no_such, [])' refused 'inviso_arm:no_such is not exported'
ok 'so is a call of one' with 'inviso_arm:no_such()' refused 'no function no_such'
ok 'a process that runs a function of a module is understood' \
	with 'spawn(inviso_arm, plan, [x])' combines
ok 'so is a fun' with '_ = fun inviso_arm:plan\/1' combines
ok 'beams that OTP 25 cannot load are refused' beam25
ok 'others are not' works escript tools/beam25.escript "$dir/some.beam"

summary
