#!/bin/sh
# inviso as a dependency: of a rebar3 project, in a release, of a mix project.
# Each builds a copy of this tree with the tool's own means (make priv for what
# is in C), and records a call with what came of it.
set -u
root=$PWD
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

n=0 bad=0
point() { # OK WHAT
	n=$((n + 1))
	if "$1"; then
		echo "ok $n - $2"
	else
		sed 's/^/# /' "$dir/log"
		echo "not ok $n - $2"
		bad=1
	fi
}

skip() { # TOOL WHAT
	n=$((n + 1))
	echo "ok $n - $2 # SKIP there is no $1 here"
}

works() { # COMMAND...: run it, its output into the log
	if "$@" >"$dir/log" 2>&1 </dev/null; then echo true; else echo false; fi
}

# As somebody has it who gets the repository; what is compiled already saves time.
copy() { # DIRECTORY
	mkdir -p "$1/build"
	(cd "$root" && tar -cf - Makefile rebar.config LICENSE mk tools src c_src) |
		tar -xf - -C "$1"
	[ ! -d "$root/include" ] || cp -R "$root/include" "$1"
	cp -a "$root/build/release" "$1/build/"
	rm -rf "$1/build/release/ct" "$1/build/release/priv"
}

# A module that records a call.
cat >"$dir/shop.erl" <<'END'
-module(shop).
-export([record/0]).
record() ->
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

	point "$(works rebar3 compile)" 'rebar3 compiles a project that depends on inviso'
	point "$(works erl -noinput -pa _build/default/checkouts/inviso/ebin \
		-pa _build/default/lib/shop/ebin -s shop record)" 'the dependency records a call'
	point "$(works rebar3 release)" 'rebar3 makes a release with inviso in it'
	point "$(works timeout 60 _build/default/rel/shop/bin/shop -noinput -s shop record &&
		grep -q 'with .*/rel/shop/lib/inviso-[^/]*/priv' "$dir/log" || echo false)" \
		'inviso records a call in the release, with what is in it'
	cd "$root" || exit 1
else
	skip rebar3 'a project and a release of rebar3'
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
	point "$(works mix compile)" 'mix compiles a project that depends on inviso'
	point "$(works erlc "$dir/shop.erl")" 'a module that uses it compiles'
	point "$(works erl -noinput -pa _build/prod/lib/inviso/ebin -s shop record)" \
		'the dependency records a call'
	cd "$root" || exit 1
else
	skip mix 'a project of mix'
fi

echo "1..$n"
exit $bad
