/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_CONTROL_H
#define INV_ABI_CONTROL_H

/*
 * What the command and a traced node say to each other: Erlang terms over
 * distribution.  The command is a hidden C node; on the node answer `rex' of
 * kernel and, once they are there, processes of ours.
 *
 * Every request has the form of a gen_server's, every answer carries its tag:
 *
 *	command ── {'$gen_call', {Self, Tag}, Request} ──► rex | guard | session
 *	command ◄─────────── {Tag, Answer} ─────────────
 *
 * Tag is an integer that the command never uses twice on a connection.
 * A request to rex is {call, Module, Function, Args, user}: a call of a
 * function (MFA below), answered by its result or {badrpc, Reason}.
 *
 * Texts for people are UTF-8 binaries.  Failures are {error, Class, Text},
 * Class an atom of INV_CONTROL_CLASSES; the exit code follows from it.
 *
 * 1. Survey, by rex, with nothing of ours on the node:
 *	erlang:system_info/1	otp_release, system_architecture, version, …
 *	erlang:nodes/1		[connected], for `-n all`
 *
 * 2. Attach, one call by rex of erl_eval:expr/5 (Block, Bindings, none, none,
 *    value: unlike exprs/2 it gives back no bindings, with all of Mods in them,
 *    and does not load erl_lint), so that there is no instant at which code of
 *    ours is there and nobody to take it away.  The modules (Mods) are chosen
 *    when the command is built; the expressions are the value of
 *    inviso_push:loader/0, whose variables are Mods and Args:
 *	case catch erlang:register(inviso_loading, self()) of
 *	    true -> when no code of ours is in use or installed:
 *			what was left, or is not purged yet, goes first;
 *			of Mods, those of the engine only where the VM has
 *			no trace sessions;
 *			code:atomic_load(Mods)	{M, "inviso_pushed", Beam}
 *		inviso_push:attach(Args);
 *	    _ ->
 *		{error, again, <<>>}
 *	end
 *    The name is a lock: held by who loads and attaches, and by a guard that
 *    takes the code away.  Its value:
 *	{ok, #{guard := pid(), dir := binary() | none, files := [binary()]}}
 *	{error, Class, Text}
 *    Class `again': somebody else does one or the other at this moment, or a
 *    process still runs code that was there before; ask again after 20 ms, for as long as a deadline allows (5 s).
 *    Args, a map:
 *	protocol  INV_CONTROL_PROTOCOL
 *	build     inviso_push:build/2 of Mods and of the files, made when the
 *		  command is built: a binary, equal for equal code
 *	client    pid of the command: who is attached until it leaves or its
 *		  node is gone
 *	owner     text, "user@host (os pid 4711)"
 *	want      code | tracer: whether NIF and spooler are needed
 *	dirs      [binary]: where to make the private directory; [] is the
 *		  node's own choice
 *    files names what is to be sent, of "inviso_tracer.so", "inviso_spool",
 *    "inviso_engine.so" (where the VM has no trace sessions).
 *
 * 3. Requests to the guard:
 *	{put, Name, Bytes}	ok | {error, Class, Text}; a file that is there
 *				already is left as it is
 *	ready			ok | {error, Class, Text}; the NIF is loaded,
 *				the spooler can be executed
 *	{leave, Pid}		gone (nothing of ours will be here: see
 *				`code:is_loaded/1' of inviso_push, the last;
 *				where there are many processes, memory of code
 *				is given back by and by after that) |
 *				{others, [Owner :: binary]}
 *
 * 4. A session, by rex: inviso_session:start(Map):
 *	{ok, Pid, Status} | {error, Class, Text}
 *    Map:
 *	name      binary, unique on the node, [a-z0-9_.-]{1,64}
 *	owner     as above
 *	client    as above
 *	guard     the guard's pid
 *	mode      live | record | detached (of the dead man, see below)
 *	keep      oldest | newest
 *	specs     [binary]: what to trace, as written by the user; in mode
 *		  live, calls without an action show what they return
 *	procs     [binary]: all, new, existing, <0.1.2>, a registered name
 *	follow    [spawned | linked]
 *	limits    #{events, bytes, rate, ms}: integers, 0 or absent: none; ms
 *		  is the time from before the first flag or pattern is set.
 *		  They hold while it arms, too
 *	tracer    options of inviso_tracer:open/2: max_term_bytes, max_depth,
 *		  packet_bytes, buffer_bytes, compress, payload, flush_ms, drain_ms,
 *		  filter (as text)
 *	protect   #{run_queue, memory_percent}: 0 is off, absent the default
 *	dead_man_ms  after so long without a word of the client the session
 *		  ends and its files are removed
 *	hold_ms   detached, or asked to hold: how long logs are kept for `fetch'
 *		  when it is done
 *	dry_run   boolean: arm nothing, only count
 *
 * 5. Requests to a session:
 *	alive			ok: a sign of life without a question
 *	status			Status
 *	{follow, Offset, Max}	{Bytes, Watermark, Status}: of the log from
 *				Offset (only of a log that is not rotated);
 *				waits up to 100 ms for some.  Every event whose
 *				Erlang monotonic time is below Watermark (ns)
 *				is in the log up to Offset + size of Bytes;
 *				none: nothing is known; eof: the log is
 *				complete and so is what was sent
 *	stop			Status, when tracing has stopped and the log is
 *				closed; any number of times
 *	files			{ok, [{Name :: binary, Size}]}, of what `stop' left
 *	{read, Name, Offset, Max}	{ok, Bytes} | eof | {error, Class, Text}
 *	counters		{ok, [{M, F, A, Calls, Ns | none}]} of actions
 *				`count' and `time', the greatest first
 *	hold			ok: when it has stopped it, and its files, stay
 *				for hold_ms, whoever is gone
 *	remove			ok: the session ends, its files are removed
 *
 *    Status, a map:
 *	name, owner, mode, keep	as given
 *	since		Erlang system time, seconds
 *	specs		as given
 *	limits		as given
 *	state		arming | tracing | stopping | stopped | failed
 *	why		none | events | bytes | rate | time | asked | client_gone
 *			| run_queue | memory | queue | tracer: why it stopped
 *	text		of why, with the figures ("run queue 212, limit 64").
 *			Of a session whose time was up while it armed, which
 *			has failed: how far it had come
 *	class		of a session that failed, an atom of
 *			INV_CONTROL_CLASSES; else none
 *	log		binary: the path of the log, of a recording; else none
 *	matched		#{functions, processes, sensitive}: sensitive are
 *			processes that cannot be traced
 *	armed		{Done, Total} functions, while arming
 *	notes		[binary]: what the user should know, once each
 *	produced, recorded, dropped, log_bytes	integers
 *	filter		as given; empty: none
 *	filtered, undecided	integers: events that the filter left out, and
 *			those that it could not decide, which are recorded
 *	lost		#{Reason :: atom => integer}
 *	ms_left		integer | infinity
 *	expected	events a second, of dry_run; else absent
 *
 * 6. By rex: inviso_session:find(Name) -> {ok, Pid} | {error, Class, Text};
 *    inviso_status:node() -> map, see there.
 *
 * The dead man: a session of mode live or record whose client has sent nothing
 * for dead_man_ms, or whose node is gone for as long, ends.  One of mode
 * detached ends with its deadline only (limits.ms, which it must have).
 */
#define INV_CONTROL_PROTOCOL 1

/* Classes of errors, and what becomes of them in the command's exit code:
 * usage 2, unreachable 3, refused 4, nothing 5, failed 1; again (of attach
 * alone): 1, when the deadline has passed. */
#define INV_CONTROL_CLASSES(X) \
	X(FAILED, "failed")    \
	X(USAGE, "usage")      \
	X(REFUSED, "refused")  \
	X(NOTHING, "nothing")  \
	X(AGAIN, "again")

#endif
