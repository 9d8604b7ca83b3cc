/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_CONTROL_H
#define INV_ABI_CONTROL_H

/*
 * The protocol between the command and a traced node: Erlang terms over
 * distribution. The command is a hidden C node. On the traced node, kernel's
 * process `rex' answers requests. After the attach, inviso's guard and sessions
 * answer requests, too.
 *
 * A request has the form of a gen_server call. The answer contains the
 * request's tag:
 *
 *	command ── {'$gen_call', {Self, Tag}, Request} ──► rex | guard | session
 *	command ◄─────────── {Tag, Answer} ─────────────
 *
 * Tag is an integer that the command never uses twice on a connection.
 * A request to rex is {call, Module, Function, Args, user}.  rex calls the
 * function and answers with its result, or with {badrpc, Reason}.
 *
 * Texts for people are UTF-8 binaries.  A failure is {error, Class, Text}.
 * Class is an atom of INV_CONTROL_CLASSES and determines the exit code.
 *
 * 1. Survey, before the command pushes code: one call, through rex, of
 *    erl_eval:expr/5. The expression is made when the command is built
 *    (tools/payload.escript). Its value is:
 *	{otp_release, version, system_architecture and {wordsize, external} of
 *	 erlang:system_info/1, the second element of os:type(),
 *	 nodes(connected), whether the VM runs with musl}
 *
 * 2. Attach: one call, through rex, of erl_eval:expr/5 with the arguments
 *    (Block, Bindings, none, none, value). This one call both loads the code
 *    and starts the guard, which removes the code even if the command dies.
 *    erl_eval:exprs/2 is not used, because it would load erl_lint and send back
 *    the bindings, which contain Mods. The variables are Mods and Args. Mods
 *    are the modules to load; each is combined from many modules of src/ when
 *    the command is built (tools/combine.escript). Block is the value of
 *    inviso_push:loader/0:
 *	case catch erlang:register(inviso_loading, self()) of
 *	    true ->
 *		if no code of inviso is in use or installed: removes what an
 *			earlier attach left, and then calls
 *			code:atomic_load([{M, "inviso_pushed", Beam}]) for
 *			Mods, without the engine if the VM has trace sessions;
 *		inviso_tracer:'inviso_push:attach'(Args), or, if inviso is
 *			installed, inviso_push:attach(Args);
 *	    _ when the code of an earlier attach is loaded without a guard ->
 *		asks the process that holds the lock to attach; that process
 *		attaches if its code is of the same build (inviso_linger);
 *	    _ ->
 *		{error, again, <<>>}
 *	end
 *    So functions have two names: below, M:F(Args) means
 *    inviso_tracer:'M:F'(Args) if the command pushed the code.
 *    The registered name inviso_loading is a lock: the process that loads and
 *    attaches has the name. After the guard has ended, the process that removes
 *    the code has the name.
 *    The call returns:
 *	{ok, #{guard := pid(), dir := binary() | none, files := [binary()],
 *	       brought := boolean(), stays := boolean()}}
 *	{error, Class, Text}
 *    Class `again': another client is attaching at the moment, or a process
 *    still runs code of an earlier attach.  The command repeats the call after
 *    INV_CONTROL_PAUSE_MS, for at most INV_CONTROL_AGAIN_MS.
 *    Args, a map:
 *	protocol  INV_CONTROL_PROTOCOL
 *	build     a binary that identifies the code. When the command is
 *		  built, inviso_push:build/3 computes it from the modules,
 *		  before and after they are combined, and from the files
 *	client    pid of the command.  The client stays attached until it
 *		  sends `leave' or its connection to the node is lost
 *	owner     text, "user@host (os pid 4711)"
 *	want      code | tracer: whether NIF and spooler are needed
 *	dirs      [binary]: the private directory is created in the first of
 *		  these directories where this is possible; []: the node
 *		  chooses
 *    files in the result lists which of "inviso_tracer.so" and "inviso_spool"
 *    the command must send.
 *    brought is true if a command pushed the code to the node.
 *    stays is true if the code stays loaded for 3 seconds after the guard has
 *    ended, so that the next client can use it. The first client of a node gets
 *    false.
 *
 * 3. Requests to the guard:
 *	{put, Name, Bytes}	ok | {error, Class, Text}; an existing file is
 *				left as it is
 *	ready			ok | {error, Class, Text}; loads the NIF, and
 *				checks that the spooler can be executed
 *	{leave, Pid}		{others, [Owner :: binary]}: other clients are
 *				attached | gone: inviso leaves the node.  If a
 *				command pushed the code, then, when the guard is
 *				dead, all files and processes are removed.  The
 *				code, unless it stays, is removed when no
 *				process has the name inviso_loading.  On a node
 *				with many processes, the memory of the code is
 *				freed later
 *    A guard that ends by itself first deletes its table inviso_guard.  If a
 *    guard is killed, its heir inherits the table and becomes the guard.
 *
 * 4. Start of a session, through rex: inviso_session:start(Map):
 *	{ok, Pid, Status} | {error, Class, Text}
 *    Map:
 *	name      binary, unique on the node, [a-z0-9_.-]{1,64}
 *	owner     as in Args
 *	client    as in Args
 *	guard     the guard's pid
 *	mode      live | record | detached (see the dead man's time below)
 *	keep      oldest | newest
 *	specs     [binary]: what to trace, as written by the user; in mode
 *		  live, a call spec without an action also shows returns
 *	procs     [binary]: all, new, existing, <0.1.2>, a registered name
 *	follow    [spawned | linked]
 *	limits    #{events, bytes, rate, ms}: integers; 0 or absent: no limit.
 *		  Limits also apply while the session is arming; ms counts from
 *		  just before the session sets the first flag or pattern
 *	tracer    options of inviso_tracer:open/2: max_term_bytes, max_depth,
 *		  packet_bytes, buffer_bytes, compress, payload, flush_ms,
 *		  drain_ms, filter (as text), redact (list of texts; the
 *		  session finds the definitions of records)
 *	protect   #{run_queue, memory_percent}: 0: off; absent: the default
 *	dead_man_ms  if the client sends nothing for this long, the session
 *		  ends and its files are removed
 *	hold_ms   how long logs are kept for `inviso fetch' after the end of
 *		  a session that has mode detached or got the request `hold'
 *	open_calls  if a process has this many traced calls whose ends the VM
 *		  is to report, the session sets the pattern of a function
 *		  without this; 0: no bound
 *	seq	  requests of sequential traces, which the specs begin; a map
 *		  (absent: an ordinary trace):
 *		  label	    of their tokens, from 0 to 134217727; equal on all
 *			    nodes
 *		  requests  how many may begin; 0: no limit
 *		  one_in    one in so many begins
 *		  variable  binary, absent: none; of the specs, several with
 *			    commas between them; the values are recorded
 *			    with the event that begins a request
 *		  calls	    [binary]: specs of calls that are recorded in
 *			    processes that hold a token
 *		  reset	    boolean: at the end, remove all tokens of the node
 *		  The session is the node's system tracer from its start on, and
 *		  refuses to start if there is another. It arms after the
 *		  request begin. A spec that matches nothing is no error
 *	count	  a map (absent: events are recorded): the session counts events
 *		  in the node, and notes the counts in its log
 *		  (INV_NOTE_COUNT)
 *		  by	    function | process | caller | value
 *		  expr	    with value, a binary: the expression
 *		  every_ms  how often, from 50 to 3600000; at the end it notes
 *			    all counts
 *	sample	  a map (absent: specs are traced): the session has no specs, and
 *		  notes samples of stacks in its log (INV_NOTE_SAMPLE)
 *		  hz	    how many times a second, from 1 to 1000
 *		  waiting   boolean: also of waiting processes
 *		  most	    from 1 to 200: how many running processes, and how
 *			    many waiting ones, are asked at a time
 *	dry_run   boolean: the session sets no flags and patterns, and only
 *		  counts and lists what matches
 *	yes	  boolean: a wildcard may select modules of kernel and stdlib,
 *		  and the specs more than 10 000 functions
 *
 * 5. Requests to a session:
 *	alive			ok; restarts the dead man's time
 *	status			Status
 *	{clock, Command, N, Sent, Answered}
 *				Status; the session writes a note with these
 *				integers into its log (INV_NOTE_CLOCK)
 *	{follow, Offset, Max}	{Bytes, Watermark, Status}: at most Max bytes of
 *				the log from Offset (only of a log that is not
 *				rotated).  If there are no bytes yet, the
 *				session waits for them, at most 100 ms.  Every
 *				event whose Erlang monotonic time is below
 *				Watermark (ns) is in the log before Offset +
 *				size of Bytes.  Watermark none: unknown; eof:
 *				the log is complete, and ends with Bytes
 *	stop			Status, after tracing has stopped and the log is
 *				closed; can be repeated
 *	files			{ok, [{Name :: binary, Size}]}: the log's files
 *				after `stop'
 *	{read, Name, Offset, Max}	{ok, Bytes} | eof | {error, Class, Text}
 *	counters		{ok, [{M, F, A, Calls, Ns | none}]}: the
 *				functions with the actions `count' and `time',
 *				the one with the longest time first, then those
 *				without a time, the most calls first
 *	begin			ok: a session with seq may arm now, because the
 *				sessions of all nodes have started
 *	hold			ok: the session keeps its files for hold_ms
 *				after its end, even if the client has left
 *	remove			ok: ends the session and removes its files
 *
 *    Status, a map:
 *	name, owner, mode, keep	as given
 *	since		Erlang system time, seconds
 *	specs		as given
 *	limits		as given
 *	state		arming | tracing | stopping | stopped | failed
 *	why		why the session stopped: none | events | bytes | rate |
 *			time | asked | client_gone | run_queue | memory |
 *			queue | tracer
 *	text		explains why, with figures ("run queue 212, limit 64").
 *			If the session failed because the limit ms was reached
 *			while it was arming: how many functions were armed
 *	class		if the session failed, an atom of INV_CONTROL_CLASSES;
 *			otherwise none
 *	log		in mode record or detached a binary, the path of the
 *			log; otherwise none
 *	matched		#{functions, processes, sensitive, system}: numbers;
 *			sensitive counts the processes that cannot be traced,
 *			because they have the process flag `sensitive'; system
 *			counts the kinds of events of the system monitor; with
 *			dry_run also list => [binary], lines for the user
 *			with seq also idle: how many specs match nothing here
 *	seq		only with seq: #{label, begun, beyond, remote, others,
 *			held}, see inviso-seq(1); held only at the end, and not
 *			if it is not known
 *	armed		{Done, Total} functions, while arming
 *	notes		[binary]: messages for the user, without duplicates
 *	produced, recorded, dropped, log_bytes	integers
 *	filter		as given; empty: no filter
 *	filtered, undecided	integers: events that the filter left out, and
 *			recorded events that it could not decide
 *	redacted	integer: values in whose place a mark was recorded
 *	left_out	integer: calls, and ends of calls, that were left out
 *			because of open_calls; they are not in produced
 *	lost		#{Reason :: atom => integer}
 *	ms_left		integer | infinity
 *	expected	only with dry_run: expected events a second
 *
 * 6. Through rex:
 *	inviso_session:find(Name)	{ok, Pid} | {error, Class, Text}
 *	inviso_status:node()		a map, see src/session/inviso_status.erl
 *
 * 7. Gauges measure a node for `inviso top'. They trace nothing. Through rex:
 *    inviso_gauge:start(Map):
 *	{ok, Pid} | {error, Class, Text}
 *    Map:
 *	guard	  the guard's pid
 *	client	  as in Args
 *	top	  from 1 to 200: of how many processes the figures are wanted,
 *		  for each of the orders mailbox, memory and speed
 *	every_ms  from 100 to 60000: how often the client asks
 *    A gauge ends when the connection to the client's node is lost, or when
 *    the client has asked for nothing for 10 s and two intervals.
 *    Requests to a gauge:
 *	stop			ok, when the gauge runs no code of inviso
 *	measure			a map:
 *	now		Erlang monotonic time, ns
 *	uptime_ms, schedulers, run_queue, processes, process_limit, ports
 *	reductions	of all processes since the start of the VM
 *	scan		what the last look at processes has found, a map:
 *		age_ms	  how long ago that was; none: not yet
 *		processes how many processes there were
 *		looked	  at how many of them the last tick looked
 *		round_ms  how long it takes to look at all of them
 *		cost_ppm  the part of the time of all schedulers that the last
 *			  tick took
 *		memory	  erlang:memory/0 as a map
 *		rows	  a list of maps, in no order: pid, name, current
 *			  (binaries); kind (registered | label | function |
 *			  none: what name is), status (atoms); mailbox,
 *			  reductions; memory (none: the mailbox is too long to
 *			  ask for it), speed (reductions in a second, or none)
 *
 * The dead man's time: a session of mode live or record ends if its client
 * sends nothing for dead_man_ms, for example because the connection is lost. A
 * session of mode detached needs no client; it ends after limits.ms at the
 * latest, and this limit is required.
 */
#define INV_CONTROL_PROTOCOL 2
#define INV_CONTROL_AGAIN_MS 15000
#define INV_CONTROL_PAUSE_MS 20

/* INV_CONTROL_MODULE: the module that has all functions that the command calls
 * on a node to which it pushed code (section 2). INV_CONTROL_GUARD: the
 * name of the guard's table. INV_CONTROL_LOCK: the registered name that serves
 * as the lock. */
#define INV_CONTROL_MODULE "inviso_tracer"
#define INV_CONTROL_GUARD "inviso_guard"
#define INV_CONTROL_LOCK "inviso_loading"

/* Classes of errors. The command's exit code for each: usage 2, refused 4,
 * nothing 5, failed 1. `again' occurs only in answers to attach; if the answer
 * is still `again' after INV_CONTROL_AGAIN_MS, the exit code is 1. */
#define INV_CONTROL_CLASSES(X) \
	X(FAILED, "failed")    \
	X(USAGE, "usage")      \
	X(REFUSED, "refused")  \
	X(NOTHING, "nothing")  \
	X(AGAIN, "again")

#endif
