#!/bin/sh
# inviso as a dependency of a rebar3 project, in a release, and of a mix
# project. Each builds a copy of this tree with its own tool (make priv for the
# parts in C), and records a call with the result.
# shellcheck source=lib.sh
. test/cli/lib.sh

# The test does not measure the speed of the command, so the command is linked
# without optimization across files, which is faster.
export MAKEFLAGS=LINK_LTO=-fno-lto

# Copies the tree as a user gets it from the repository. Compiled objects are
# copied too, which saves time.
copy() { # DIRECTORY
	mkdir -p "$1/build"
	(cd "$root" && tar -cf - Makefile rebar.config LICENSE mk tools src c_src) |
		tar -xf - -C "$1"
	[ ! -d "$root/include" ] || cp -a "$root/include" "$1"
	cp -a "$root/build/release" "$1/build/"
	rm -rf "$1/build/release/ct" "$1/build/release/priv"
}

# A module that records a call.
cat >"$dir/shop.erl" <<'END'
-module(shop).
-export([record/0]).
record() ->
    %% The code for other nodes is there.
    {ok, _, [_ | _], [_ | _]} = inviso_bring:payload(),
    {ok, {M, S} = Tracer} = inviso_tracer:open("dependency.log", #{}),
    1 = erlang:trace_pattern({lists, seq, 2}, true, []),
    1 = erlang:trace(self(), true, [call, {tracer, M, S}]),
    [1, 2] = lists:seq(1, 2),
    {ok, #{recorded := 1}} = inviso_tracer:close(Tracer),
    io:format("with ~ts~n", [code:priv_dir(inviso)]),
    halt(0).
END

# --- rebar3 -------------------------------------------------------------------

if command -v rebar3 >/dev/null; then
	mkdir -p "$dir/shop/src" "$dir/shop/_checkouts"
	cd "$dir/shop" || exit 1
	copy _checkouts/inviso
	cat >rebar.config <<'END'
{deps, [inviso]}.
{relx, [{release, {shop, "1.0.0"}, [shop, inviso]},
        {mode, prod}, {include_erts, false}, {extended_start_script, false}]}.
END
	cat >src/shop.app.src <<'END'
{application, shop,
 [{description, "a shop"}, {vsn, "1.0.0"}, {registered, []}, {modules, []},
  {applications, [kernel, stdlib, inviso]}]}.
END
	cp "$dir/shop.erl" src

	ok 'rebar3 compiles a project that depends on inviso' works rebar3 compile
	ok 'the dependency records a call' works erl -noinput \
		-pa _build/default/checkouts/inviso/ebin \
		-pa _build/default/lib/shop/ebin -s shop record
	ok 'rebar3 makes a release with inviso in it' works rebar3 release
	ok 'inviso records a call in the release' works timeout 300 \
		_build/default/rel/shop/bin/shop -noinput -s shop record
	ok 'with the files of the release' \
		grep -q 'with .*/rel/shop/lib/inviso-[^/]*/priv' "$dir/log"
	cd "$root" || exit 1
else
	skip 'a project and a release of rebar3' 'there is no rebar3 here'
fi

# --- mix ----------------------------------------------------------------------

if command -v mix >/dev/null && command -v rebar3 >/dev/null; then
	mkdir -p "$dir/cart/lib"
	copy "$dir/inviso"
	cd "$dir/cart" || exit 1
	cat >mix.exs <<'END'
defmodule Cart.MixProject do
  use Mix.Project

  def project do
    [app: :cart, version: "1.0.0", deps: [{:inviso, path: "../inviso"}]]
  end
end
END
	echo 'defmodule Cart do end' >lib/cart.ex
	export MIX_REBAR3 HEX_OFFLINE=1 MIX_ENV=prod
	MIX_REBAR3=$(command -v rebar3)
	ok 'mix compiles a project that depends on inviso' works mix compile
	ok 'a module that uses it compiles' works erlc "$dir/shop.erl"
	ok 'the dependency records a call' works erl -noinput \
		-pa _build/prod/lib/inviso/ebin -s shop record
	cd "$root" || exit 1
else
	skip 'a project of mix' 'there is no mix here'
fi

summary
