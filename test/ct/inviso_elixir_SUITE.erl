%% SPDX-License-Identifier: Apache-2.0
%% Output in Elixir's syntax, which is the default for nodes that run Elixir: live,
%% and from logs. Elixir parses the output.
-module(inviso_elixir_SUITE).

-include_lib("common_test/include/ct.hrl").

-export([all/0, suite/0, init_per_suite/1, end_per_suite/1]).
-export([live_and_in_a_log/1]).

-define(LIB, inviso_command_lib).
-define(NODE, inviso_stock_node).

suite() -> [{timetrap, {minutes, 5}}].

all() -> [live_and_in_a_log].

init_per_suite(Config) ->
    case os:find_executable("elixir") of
        false ->
            {skip, "elixir is not installed"};
        Elixir ->
            Lib = string:trim(
                    os:cmd(Elixir ++ " -e 'IO.puts(:code.lib_dir(:elixir))'")),
            case ?LIB:base() of
                {ok, Base} -> [{base, Base}, {lib, Lib} | Config];
                {skip, _} = Skip -> Skip
            end
    end.

end_per_suite(Config) ->
    ?LIB:base_removed(?config(base, Config)).

%% The source of an Elixir application with a GenServer, structs, keywords and
%% exceptions.
application() ->
    <<"defmodule Shop.Item do\n"
      "  defstruct [:name, qty: 1, tags: []]\n"
      "end\n"
      "defmodule Shop.OutOfStock do\n"
      "  defexception [:item, message: \"out of stock\"]\n"
      "end\n"
      "defmodule Shop.Cart do\n"
      "  use GenServer\n"
      "  def init(opts), do: {:ok, Map.new(opts)}\n"
      "  def handle_call({:add, item, opts}, _from, s),\n"
      "    do: {:reply, price(item, opts), Map.put(s, \"last\", item)}\n"
      "  def price(i, opts) do\n"
      "    if opts[:fail], do: raise(Shop.OutOfStock, item: i.name)\n"
      "    {2.5, opts[:currency], 'abc', \"größe\", fn x -> x end, <<255>>}\n"
      "  end\n"
      "  def try_price(i, o) do\n"
      "    try do price(i, o) rescue e -> e end\n"
      "  end\n"
      "  def loop() do\n"
      "    i = %Shop.Item{name: \"tea\", tags: [:a, :\"b c\", nil]}\n"
      "    GenServer.call(__MODULE__, {:add, i, [currency: :usd, ok?: true]})\n"
      "    try_price(%Shop.Item{name: \"milk\"}, fail: true)\n"
      "    Process.sleep(10)\n"
      "    loop()\n"
      "  end\n"
      "  def run() do\n"
      "    {:ok, _} = GenServer.start(__MODULE__, [a: 1], name: __MODULE__)\n"
      "    spawn(fn -> Process.register(self(), :customer); loop() end)\n"
      "  end\n"
      "end\n"/utf8>>.

live_and_in_a_log(Config) ->
    Base = ?config(base, Config),
    Node = ?NODE:start(Base, #{uid => ?LIB:some_uid()}),
    try
        Call = fun(M, F, Args) -> ?NODE:call(Node, M, F, Args) end,
        true = Call(code, add_patha, [?config(lib, Config) ++ "/ebin"]),
        {ok, _} = Call(application, ensure_all_started, [elixir]),
        _ = Call('Elixir.Code', compile_string, [application()]),
        _ = Call('Elixir.Shop.Cart', run, []),
        traced(Config, Node, Call)
    after
        ?NODE:stop(Node)
    end.

traced(Config, #{cookie := Cookie, uid := Uid, name := Name}, Call) ->
    Opts = #{base => ?config(base, Config), cookie => Cookie, uid => Uid},
    Dir = filename:join(?config(base, Config), "logs"),
    ok = filelib:ensure_path(Dir),
    ok = file:change_mode(Dir, 8#777),
    Log = filename:join(Dir, "x.log"),
    #{status := 0, out := Live} =
        ?LIB:run(Opts, ["trace", "-n", Name, "--events", "40", "-o", Log,
                        "Shop.Cart", "send", "receive"]),
    ok = are_good(Live, Call),
    #{status := 0, out := Merged} = ?LIB:run(Opts, ["merge", Log]),
    ok = are_good(Merged, Call),
    #{status := 0, out := Erlang} =
        ?LIB:run(Opts, ["merge", "--syntax", "erlang", Log]),
    ok = has(Erlang, ["'Elixir.Shop.Cart':price(#{", "'__struct__' => "]),
    #{status := 0, out := Json} = ?LIB:run(Opts, ["merge", "--json", Log]),
    ok = has(Json, ["\"module\":\"Elixir.Shop.Cart\"", "'__struct__' => "]),
    #{events := Events, calls := Calls} = inviso_formats:agree(Config, [Log], []),
    true = Events > Calls andalso Calls > 0,
    ok.

has(Text, Words) ->
    [] = [{W, Text} || W <- Words, string:find(Text, W) =:= nomatch],
    ok.

are_good(Out, Call) ->
    ok = has(Out, [" :customer call Shop.Cart.try_price(%Shop.Item{",
                   "name: \"milk\"", "[fail: true])",
                   " Shop.Cart call Shop.Cart.handle_call({:add, %Shop.Item{",
                   "[:a, :\"b c\", nil]", "[currency: :usd, ok?: true]",
                   "{2.5, :usd, ~c\"abc\", ",
                   "exception Shop.Cart.price/2 {:error, %Shop.OutOfStock{"]),
    nomatch = string:find(Out, "Elixir."),
    Terms = lists:append([terms(L) || L <- ?LIB:lines(Out)]),
    true = length(Terms) > 20,
    [] = [{Term, Error}
          || Term <- Terms,
             {error, _} = Error <- [Call('Elixir.Code', string_to_quoted,
                                         [readable(Term)])]],
    ok.

%% Returns the terms and calls in a line.
terms(Line) ->
    case re:run(Line, " (call|return|exception|send|receive) (.*)$",
                [{capture, all_but_first, binary}, unicode]) of
        nomatch -> [];
        {match, [<<"call">>, Text]} -> [Text];
        {match, [<<"receive">>, Text]} -> [Text];
        {match, [<<"return">>, Text]} -> tl(re:split(timeless(Text), " -> "));
        {match, [<<"exception">>, Text]} ->
            [_, Reason] = re:split(timeless(Text), "/2 ", [{parts, 2}]),
            [Reason];
        {match, [<<"send">>, Text]} ->
            [Message | _] = re:split(Text, " to (#|:|Shop)"),
            [Message]
    end.

timeless(Text) ->
    re:replace(Text, " \\(~?[0-9.]+ .?s\\)$", "", [unicode, {return, binary}]).

%% Replaces terms that Elixir prints in a form that Elixir itself cannot read.
readable(Text) ->
    re:replace(Text, "#(PID|Reference|Function|Port)<[^>]*>", ":x",
               [global, unicode, {return, binary}]).
