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
 *    If the command pushed the code, functions have other names: where this
 *    text says M:F(Args), the command calls inviso_tracer:'M:F'(Args).
 *    The registered name inviso_loading is a lock. The process that loads the
 *    code and attaches has this name, and releases it at the end of the call.
 *    After the guard has ended, the process that removes the code has the name.
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
 *		  before and after they are combined, and from the libraries
 *		  and the spooler
 *	client    pid of the command.  The client stays attached until it
 *		  sends `leave' or its connection to the node is lost
 *	owner     text, "user@host (os pid 4711)"
 *	want      tracer: NIF and spooler are needed; code: they are not
 *	dirs      [binary]: directories; the node creates its private
 *		  directory in the first of these in which this succeeds; []:
 *		  the node chooses
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
 *	{leave, Pid}		Pid is the client.  {others, [Owner :: binary]}:
 *				other clients are attached | gone: inviso leaves
 *				the node.  If a command pushed the code: all
 *				files and processes are gone as soon as the
 *				guard is dead.  The code, unless it stays, is
 *				gone as soon as no process has the name
 *				inviso_loading.  On a node with many processes,
 *				the memory of the code is freed later
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
 *		  The time ms begins when all patterns are set and before the
 *		  first flag is set: without flags there are no events. It
 *		  begins before the first pattern is set with seq, with
 *		  sample, and if patterns count calls, because that needs no
 *		  flags. The limits also apply while the session sets flags
 *	tracer    options of inviso_tracer:open/2: max_term_bytes, max_depth,
 *		  packet_bytes, buffer_bytes, compress, payload, flush_ms,
 *		  drain_ms, filter (as text), redact (list of texts; the
 *		  session finds the definitions of records)
 *	protect   #{run_queue, memory_percent}: 0: off; absent: the default
 *	dead_man_ms  if the client sends nothing for this long, the session
 *		  ends and its files are removed
 *	arm_ms	  the session fails if it needs more time than this, and more
 *		  time than limits.ms, to set patterns. No effect without
 *		  limits.ms
 *	hold_ms   how long logs are kept for `inviso fetch' after the end of
 *		  a session that has mode detached or got the request `hold'
 *	open_calls  a bound on the open calls of a process: traced calls whose
 *		  ends the VM has still to report. If a process reaches the
 *		  bound, the session changes the pattern of a function, so that
 *		  the VM no longer reports the ends of this function's calls;
 *		  0: no bound
 *	seq	  absent: an ordinary trace; a map: the calls and send events
 *		  that the specs select begin requests of sequential traces
 *		  label	    the label of their tokens, from 0 to 134217727; the
 *			    same on all nodes
 *		  requests  how many requests may begin; 0: no limit
 *		  one_in    n: only one in n of these events begins a request
 *		  variable  binary: names of variables in the specs, separated
 *			    by commas; absent: none. The values of the
 *			    variables are recorded with the event that begins a
 *			    request
 *		  calls	    [binary]: specs of calls that are recorded in
 *			    processes that hold a token
 *		  reset	    boolean: at the end, remove all tokens of the node
 *		  From its start on the session is the node's system tracer. It
 *		  refuses to start if the node already has one. It arms when it
 *		  gets the request `begin' (section 5). A spec that matches
 *		  nothing is no error
 *	count	  a map (absent: events are recorded): the session counts events
 *		  in the node, and notes the counts in its log
 *		  (INV_NOTE_COUNT)
 *		  of	    what is counted or measured: events; times: how long
 *			    calls take; values: the values of `expr'
 *		  by	    the keys: function | process | value; if `of' is
 *			    events, also caller | result | reason
 *		  expr	    only if `of' is values: the expression, a binary
 *		  key	    only if `by' is value: the expression whose values
 *			    are the keys, a binary
 *		  every_ms  the interval of the notes, from 50 to 3600000; the
 *			    session notes all counts when it ends
 *	decide	  {{MinNs | none, Failed}, none}: a call is recorded when it
 *		  ends, and only if it took at least MinNs ns and, if Failed is
 *		  true, has failed (nif/decide.h). Absent: no rule for all calls
 *	sample	  a map (absent: specs are traced): the session has no specs,
 *		  and notes samples of stacks in its log (INV_NOTE_SAMPLE)
 *		  hz	    how many times a second it takes samples, from 1 to
 *			    1000
 *		  waiting   boolean: it also samples waiting processes
 *		  most	    from 1 to 200: each time it asks at most this many
 *			    processes of each kind for their stacks: running
 *			    processes, processes that ran lately, and waiting
 *			    processes
 *	dry_run   boolean: the session sets no flags and patterns, and only
 *		  counts and lists what matches
 *	yes	  boolean: true: a wildcard may select modules of kernel and
 *		  stdlib, and the specs may select more than 10 000 functions
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
 *				functions with the actions `count' and `time'.
 *				Functions with a time come first, the longest
 *				time first; then the others, the most calls
 *				first
 *	begin			ok: a session with seq may arm now, because the
 *				sessions of all nodes have started
 *	hold			ok: the session keeps its files for hold_ms
 *				after its end, even if the client has left
 *	remove			ok: ends the session and removes its files
 *
 *    Status, a map:
 *	name, owner, mode, keep	as given
 *	since		when the session started: Erlang system time, seconds
 *	specs		as given
 *	limits		as given
 *	state		arming | tracing | stopping | stopped | failed
 *	why		why the session stopped: none | events | bytes | rate |
 *			time | asked | client_gone | run_queue | memory |
 *			queue | tracer
 *	text		explains `why', with figures ("run queue 212, limit
 *			64"). If the session failed because arming took too
 *			long: how many functions were armed
 *	class		if the session failed, an atom of INV_CONTROL_CLASSES;
 *			otherwise none
 *	log		in mode record or detached a binary, the path of the
 *			log; otherwise none
 *	matched		#{functions, processes, sensitive, system}: the numbers
 *			of functions, processes and so on that the values of
 *			specs and procs select. sensitive: processes that cannot
 *			be traced, because they have the process flag
 *			`sensitive'. system: kinds of events of the system
 *			monitor. With dry_run the map also has list =>
 *			[binary], lines for the user. With seq it also has
 *			idle: how many specs match nothing on this node
 *	seq		only with seq: #{label, begun, beyond, remote, others,
 *			held}, see inviso-seq(1). The key held is absent until
 *			the session has ended. It is also absent if the number
 *			is unknown
 *	armed		{Done, Total} functions, while arming
 *	notes		[binary]: messages for the user, without duplicates
 *	produced, recorded, dropped, log_bytes	integers
 *	filter		as given; empty: no filter
 *	filtered	integer: events that the filter left out
 *	undecided	integer: events that lack the data that the filter
 *			needs; they were recorded
 *	redacted	integer: how many values a redaction rule hid; a mark
 *			was recorded instead of each value
 *	left_out	integer: calls and ends of calls that were not recorded
 *			because of open_calls; `produced' does not count them
 *	decided		only if rules pick calls: #{forgotten, unkept, unended,
 *			open, without_args}: integers (struct inv_decide_counts
 *			in nif/decide.h)
 *	lost		#{Reason :: atom => integer}
 *	ms_left		integer | infinity: what is left of limits.ms. Before
 *			this time begins, all of it is left
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
 *	top	  N, from 1 to 200: the rows of the answer include the N
 *		  processes with the longest mailbox, the N with the most
 *		  memory, and the N with the highest speed
 *	every_ms  from 100 to 60000: the interval at which the client asks
 *    A gauge ends when the connection to the client's node is lost, or when
 *    it has got no request for 10 s plus two times every_ms.
 *    Requests to a gauge:
 *	stop			ok, as soon as the gauge no longer runs code of
 *				inviso
 *	measure			a map:
 *	now		Erlang monotonic time, ns
 *	uptime_ms, schedulers, run_queue, processes, process_limit, ports
 *	reductions	of all processes since the start of the VM
 *	scan		figures of the processes, a map. The gauge looks at a
 *			part of the processes at each tick of a timer:
 *		age_ms	  the time since the last tick; none: no tick yet
 *		processes how many processes the node had
 *		looked	  how many of them the gauge looked at in the last tick
 *		round_ms  how long it takes to look at all processes once
 *		cost_ppm  the part of the time of all schedulers that the last
 *			  tick took, in millionths
 *		memory	  erlang:memory/0 as a map
 *		rows	  a list of maps in any order, one for each process:
 *			  pid, name, current: binaries
 *			  kind	   what `name' is: registered | label | function
 *				   | none
 *			  status   an atom
 *			  mailbox, reductions: integers
 *			  memory   an integer; none: the process was not asked,
 *				   for example because its mailbox is so long
 *				   that the answer would take too much time
 *			  speed	   reductions in a second, or none
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
