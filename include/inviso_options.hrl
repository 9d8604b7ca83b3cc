%% SPDX-License-Identifier: Apache-2.0
%%
%% Written by tools/options, from c_src/abi/options.h and control.h.

%% {Key, Least, Most, Default}. Default is none if inviso computes the value,
%% or if the option is unset by default.
-define(OPT_BUFFER_BYTES, {buffer_bytes, 1, 1099511627776, none}).
-define(OPT_PACKET_BYTES, {packet_bytes, 4096, 524288, 65536}).
-define(OPT_MAX_TERM_BYTES, {max_term_bytes, 16, 16777216, 4096}).
-define(OPT_MAX_DEPTH, {max_depth, 1, 128, 32}).
-define(OPT_DRAIN_MS, {drain_ms, 1, 10000, 10}).
-define(OPT_FLUSH_MS, {flush_ms, 0, 3600000, 1000}).
-define(OPT_LIMIT_EVENTS, {events, 0, 18446744073709551614, none}).
-define(OPT_LIMIT_BYTES, {bytes, 0, 18446744073709551614, none}).
-define(OPT_LIMIT_MS, {ms, 1, 4294967295, none}).
-define(OPT_LIMIT_RATE, {rate, 1, 4294967295, none}).
-define(OPT_ROTATE_BYTES, {bytes, 1, 1125899906842624, none}).
-define(OPT_ROTATE_MS, {ms, 1, 1099511627776, none}).
-define(OPT_ROTATE_COUNT, {count, 1, 1000000, none}).
-define(OPT_RUN_QUEUE, {run_queue, 0, 1000000, none}).
-define(OPT_MEMORY_PERCENT, {memory_percent, 0, 100, 95}).
-define(OPT_DEAD_MAN_MS, {dead_man_ms, 1, 4294967295, 10000}).
-define(OPT_ARM_MS, {arm_ms, 1, 4294967295, 300000}).
-define(OPT_HOLD_MS, {hold_ms, 0, 4294967295, 3600000}).
-define(OPT_OPEN_CALLS, {open_calls, 0, 1000000, 1000}).

%% The options that each map of options may contain.
-define(OPTS_TRACER,
        [?OPT_BUFFER_BYTES,
         ?OPT_PACKET_BYTES,
         ?OPT_MAX_TERM_BYTES,
         ?OPT_MAX_DEPTH,
         ?OPT_DRAIN_MS,
         ?OPT_FLUSH_MS]).
-define(OPTS_LIMIT,
        [?OPT_LIMIT_EVENTS,
         ?OPT_LIMIT_BYTES,
         ?OPT_LIMIT_MS,
         ?OPT_LIMIT_RATE]).
-define(OPTS_ROTATE,
        [?OPT_ROTATE_BYTES,
         ?OPT_ROTATE_MS,
         ?OPT_ROTATE_COUNT]).
-define(OPTS_PROTECT,
        [?OPT_RUN_QUEUE,
         ?OPT_MEMORY_PERCENT]).
-define(OPTS_SESSION,
        [?OPT_DEAD_MAN_MS,
         ?OPT_ARM_MS,
         ?OPT_HOLD_MS,
         ?OPT_OPEN_CALLS]).

%% {Key, [Default, Other]}, for options that take one of two atoms.
-define(CHOICE_KEEP, {keep, [oldest, newest]}).
-define(CHOICE_PAYLOAD, {payload, [full, none]}).
-define(CHOICE_COMPRESS, {compress, [none, zstd]}).
-define(CHOICE_REPLACE, {replace, [false, true]}).
-define(CHOICES,
        [?CHOICE_KEEP,
         ?CHOICE_PAYLOAD,
         ?CHOICE_COMPRESS,
         ?CHOICE_REPLACE]).

%% Constants of c_src/abi/options.h, and of the protocol (control.h).
-define(TERM_MAX, 1048576).
-define(CONTROL_PROTOCOL, 2).
-define(CONTROL_AGAIN_MS, 15000).
-define(CONTROL_PAUSE_MS, 20).
