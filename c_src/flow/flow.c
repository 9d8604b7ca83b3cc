/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/likely.h"
#include "flow/name.h"
#include "flow/profiling.h"
#include "term/print.h"

/* If a function has had this many calls and no return, its returns count as
 * not traced, until a return is seen. */
#define MISSED_MAX 8u
/*
 * If a function that has never returned is called while the process has this
 * many open calls, the function's returns count as not traced, too.
 */
#define DEEP 10000u
/*
 * A node stops recording the returns of a function if too many of its calls are
 * open. So even if a function has returned before, its returns count as not
 * traced after SILENT calls in a row that ended without a return. If the
 * process has 10 * DEEP open calls, SILENT calls since the last return are
 * enough. SILENT is larger than MISSED_MAX, because a match spec can ask for
 * the returns of only a part of the calls.
 */
#define SILENT 1000u

/*
 * Remembers that a log of the node is read, and what `feed' says about the log.
 * If `feed' is NULL, nothing is known about the log.
 */
static int record(struct inv_flow *f, const struct inv_node *node,
		  const struct inv_feed *feed)
{
	struct inv_request_node *n =
		inv_requests_node(&f->requests, inv_seq_home(node));

	if (!n)
		return INV_ENOMEM;
	n->recorded = true;
	if (feed && (feed->unended || feed->growing))
		n->unfinished = true;
	if (feed && feed->lossy)
		n->lost = true;
	return 0;
}

int inv_flow_init(struct inv_flow *f, const struct inv_flow_opts *opts)
{
	memset(f, 0, sizeof(*f));
	f->opts = *opts;
	inv_processes_init(&f->processes,
			   opts->memory ? opts->memory : INV_FLOW_MEMORY);
	inv_requests_init(&f->requests, opts->request_memory);
	f->cursor = malloc(sizeof(*f->cursor));
	f->functions = calloc(INV_FLOW_FUNCTIONS, sizeof(*f->functions));
	if (!f->cursor || !f->functions)
		return INV_ENOMEM;
	if (opts->profile) {
		opts->profile->mark = inv_profiling_mark;
		opts->profile->mark_arg = f;
	}
	for (uint32_t i = 0; i < opts->n_feeds; i++)
		if (record(f, opts->feeds[i]->node, opts->feeds[i]))
			return INV_ENOMEM;
	return 0;
}

void inv_flow_release(struct inv_flow *f)
{
	inv_processes_release(&f->processes);
	inv_requests_release(&f->requests);
	inv_labels_release(&f->labels);
	inv_copier_release(&f->copier);
	inv_dict_release(&f->dict);
	inv_buf_release(&f->text);
	free(f->cursor);
	free(f->functions);
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		if (f->nodes[i].manner.fields)
			inv_fields_release(f->nodes[i].manner.fields);
		free(f->nodes[i].manner.fields);
	}
	free(f->nodes);
	free(f->feeds);
	memset(f, 0, sizeof(*f));
}

/* --- nodes ---------------------------------------------------------------- */

static int add_node(struct inv_flow *f, const struct inv_node *node)
{
	uint32_t n = node->number + 1;
	struct inv_flow_node *more;

	if (n > f->n_nodes) {
		more = realloc(f->nodes, n * sizeof(*more));
		if (!more)
			return INV_ENOMEM;
		memset(more + f->n_nodes, 0, (n - f->n_nodes) * sizeof(*more));
		f->nodes = more;
		f->n_nodes = n;
	}
	f->nodes[node->number].node = node;
	return record(f, node, NULL);
}

static bool is_known(const struct inv_flow *f, const struct inv_node *node)
{
	return node->number < f->n_nodes && f->nodes[node->number].node;
}

/* Remembers that events of the node were lost before the next item. */
static void lose(struct inv_flow *f, const struct inv_node *node)
{
	f->nodes[node->number].lost = f->items;
}

/* Returns true if no event of the node was lost since the call began. */
static bool is_certain(const struct inv_flow *f, const struct inv_node *node,
		       const struct inv_open_call *c)
{
	return c->item > f->nodes[node->number].lost;
}

/*
 * Handles the first item of a feed. If the node has an earlier recording,
 * events between the two recordings are missing. If the node was also restarted
 * in between, its processes have ended, and their pids now belong to other
 * processes.
 */
static int add_feed(struct inv_flow *f, const struct inv_item *it)
{
	uint32_t n = it->feed + 1;
	struct inv_flow_feed *more;

	if (n > f->n_feeds) {
		more = realloc(f->feeds, n * sizeof(*more));
		if (!more)
			return INV_ENOMEM;
		memset(more + f->n_feeds, 0, (n - f->n_feeds) * sizeof(*more));
		f->feeds = more;
		f->n_feeds = n;
	}
	f->feeds[it->feed].begun = true;
	if (!is_known(f, it->node))
		return add_node(f, it->node);
	lose(f, it->node);
	if (it->node->restarted)
		inv_processes_drop_node(&f->processes, it->node->number);
	return 0;
}

/* Returns the node with this name, or NULL if the node had no item. */
static const struct inv_node *node_called(const struct inv_flow *f,
					  const char *name, size_t len)
{
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct inv_node *node = f->nodes[i].node;

		if (node && strlen(node->name) == len &&
		    !memcmp(node->name, name, len))
			return node;
	}
	return NULL;
}

/* --- functions whose calls never return ----------------------------------- */

/* The table of functions consists of sets of this many entries. The key of a
 * function determines its set. In this set, the function can have any entry. */
#define WAYS 8u

/* Returns how much information would be lost if the entry were replaced. */
static uint32_t worth(const struct inv_flow_function *x)
{
	return x->key ? 1 + x->missed + (x->returned ? MISSED_MAX : 0) : 0;
}

/* Returns the function's entry. A new entry can replace that of another
 * function. */
static struct inv_flow_function *function(struct inv_flow *f,
					  const struct inv_node *node,
					  uint64_t mfa)
{
	uint64_t key = mfa + node->number * UINT64_C(0x9e3779b97f4a7c15);
	struct inv_flow_function *set =
		f->functions + key % (INV_FLOW_FUNCTIONS / WAYS) * WAYS;
	struct inv_flow_function *least = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (inv_likely(set[i].key == key))
			return &set[i];
		if (worth(&set[i]) < worth(least))
			least = &set[i];
	}
	*least = (struct inv_flow_function){ .key = key };
	return least;
}

static uint32_t missed_max(const struct inv_flow_function *x)
{
	return x->returned ? SILENT : MISSED_MAX;
}

/* Remembers that the function has returned. If its returns counted as not
 * traced until now, its latest calls were not added to the open calls. Then the
 * function's older calls, which are still in the open calls, do not belong to
 * this return. */
static struct inv_flow_function *returns(struct inv_flow *f,
					 const struct inv_node *node,
					 uint64_t mfa)
{
	struct inv_flow_function *x = function(f, node, mfa);

	if (x->missed >= missed_max(x))
		x->since = f->items;
	x->returned = true;
	x->missed = 0;
	x->calls = 0;
	return x;
}

static bool never_returns(struct inv_flow *f, const struct inv_node *node,
			  const struct inv_calls *calls, uint64_t mfa)
{
	struct inv_flow_function *x = function(f, node, mfa);

	if (x->calls < SILENT)
		x->calls++;
	if (x->returned ? calls->n >= 10 * DEEP && x->calls >= SILENT :
			  calls->n >= DEEP)
		x->missed = missed_max(x);
	return x->missed >= missed_max(x);
}

/* The calls that were still open inside an ended call have ended without a
 * return: increments `missed' of their functions. */
static void learn(struct inv_flow *f, const struct inv_node *node,
		  const struct inv_calls *calls,
		  const struct inv_ended_call *ended)
{
	for (uint32_t i = 1; i <= ended->inside; i++) {
		const struct inv_open_call *c = &calls->v[ended->depth + i];
		struct inv_flow_function *x = function(f, node, c->mfa);

		if (!c->ends && is_certain(f, node, c) &&
		    x->missed < missed_max(x))
			x->missed++;
	}
}

/* --- copies of call events ------------------------------------------------ */

static int keep(struct inv_flow *f, const struct inv_event *ev,
		struct inv_calls *calls, struct inv_open_call *c)
{
	struct inv_buf *out = &calls->copies;
	size_t begin = out->len;
	int rc = 0;

	if (ev->len > INV_FLOW_KEPT_EVENT || ev->raw_len > INV_FLOW_KEPT_EVENT)
		return 0;
	inv_buf_put(out, ev, sizeof(*ev));
	if (ev->enc == INV_ENC_PACKED)
		rc = inv_copy_put(&f->copier, out, ev->dict, ev->terms,
				  ev->len);
	else
		inv_buf_put(out, ev->raw, ev->raw_len);
	if (out->error)
		rc = INV_ENOMEM;
	if (rc)
		out->len = begin;
	c->has_copy = rc == 0;
	/* An invalid term is no error here: the sink reports it. */
	return rc == INV_ENOMEM ? rc : 0;
}

/* Reads the event of the call into f->event. If the event is invalid, f->call
 * has no event. */
static void set_event(struct inv_flow *f)
{
	struct inv_event *ev = &f->event;
	struct inv_token tok;

	if (inv_event_tracee(ev, f->cursor, &tok) ||
	    inv_event_payload(ev, f->cursor) ||
	    inv_mfa_read(&f->call_mfa, f->cursor, ev) != 1)
		return;
	f->call.event = ev;
	f->call.mfa = &f->call_mfa;
}

/* Reads the copy of a call's event into f->event and f->call_mfa. */
static int recall(struct inv_flow *f, const struct inv_calls *calls,
		  const struct inv_open_call *c)
{
	const uint8_t *p = calls->copies.data + c->copy;
	struct inv_event *ev = &f->event;
	size_t terms;

	memcpy(ev, p, sizeof(*ev));
	p += sizeof(*ev);
	if (ev->enc == INV_ENC_PACKED) {
		if (inv_copy_get(p, &f->dict, &ev->terms, &ev->len))
			return INV_ENOMEM;
		ev->dict = &f->dict;
	} else {
		terms = (size_t)(ev->terms - ev->raw);
		ev->raw = p;
		ev->terms = p + terms;
	}
	set_event(f);
	return 0;
}

/* --- calls ---------------------------------------------------------------- */

static int call(struct inv_flow *f, const struct inv_item *it,
		struct inv_process *p)
{
	struct inv_calls *calls = inv_process_calls(p);
	struct inv_paths_frame *frame;
	struct inv_open_call *c;

	f->facts.depth = calls->n;
	if (f->feeds[it->feed].marks ?
		    !it->ev.ends :
		    never_returns(f, it->node, calls, f->mfa.hash))
		return 0;
	frame = inv_unlikely(f->opts.profile) ?
			inv_profiling_enter(f, it, p, &f->mfa) :
			NULL;
	c = inv_calls_push(calls);
	if (!c)
		return INV_ENOMEM;
	c->frame = frame;
	c->mfa = f->mfa.hash;
	c->begin_ns = it->mono_ns;
	c->begin_ts_ns = it->ts_ns;
	c->item = f->items;
	c->ends = f->feeds[it->feed].marks;
	f->facts.open = true;
	if (f->opts.keep && keep(f, &it->ev, calls, c))
		return INV_ENOMEM;
	inv_process_changed(&f->processes, p);
	return 0;
}

/* Returns true if the event has no time of its own. The item then has the time
 * of the event before it. */
static bool is_untimed(const struct inv_event *ev)
{
	return ev->enc == INV_ENC_ETF && !ev->ts_kind;
}

/* Sets f->call to the call that has ended. */
static int set_call(struct inv_flow *f, const struct inv_item *it,
		    const struct inv_calls *calls, enum inv_call_end end,
		    const struct inv_ended_call *ended)
{
	const struct inv_open_call *c = &ended->call;
	int64_t duration = inv_calls_between(c->begin_ns, it->mono_ns);

	f->call = (struct inv_call){
		.end = end,
		.item = c->item,
		.begin_ts_ns = c->begin_ts_ns,
		.duration_ns = duration,
		.self_ns = inv_calls_between(c->inner_ns, duration),
		.depth = ended->depth,
		.certain = is_certain(f, it->node, c) && !is_untimed(&it->ev),
		.frame = c->frame,
	};
	f->facts.call = &f->call;
	f->facts.depth = ended->depth;
	f->call.around_ts_ns = ended->depth ?
				       calls->v[ended->depth - 1].begin_ts_ns :
				       c->begin_ts_ns;
	f->call.outermost_ts_ns = ended->depth ? calls->v[0].begin_ts_ns :
						 c->begin_ts_ns;
	return c->has_copy ? recall(f, calls, c) : 0;
}

/* Sets f->call from the record of the call's end. */
static void set_whole(struct inv_flow *f, const struct inv_item *it,
		      struct inv_process *p, enum inv_call_end end)
{
	const struct inv_whole_call *w = &f->whole;

	f->call = (struct inv_call){
		.end = end,
		.begin_ts_ns = inv_calls_between(w->duration_ns, it->ts_ns),
		.duration_ns = w->duration_ns,
		.self_ns = w->self_ns,
		.depth = w->depth,
		.certain = true,
		.decided = true,
	};
	f->facts.call = &f->call;
	f->facts.depth = w->depth;
	f->event = w->event;
	set_event(f);
	/* The call was never an open call, so no sink has shown its beginning:
	 * sinks show the whole call now. */
	f->facts.whole = f->call.event != NULL;
	if (inv_unlikely(f->opts.profile) &&
	    (f->call.mfa || end != INV_CALL_EXIT))
		f->call.frame = inv_profiling_enter(
			f, it, p, f->call.mfa ? f->call.mfa : &f->mfa);
}

/* Handles the end of a call whose beginning has no record of its own. Adds the
 * call's duration to inner_ns of the open call around it. */
static void ended_whole(struct inv_flow *f, const struct inv_item *it,
			struct inv_process *p, enum inv_call_end end)
{
	struct inv_calls *calls = inv_process_calls(p);
	struct inv_open_call *around = calls->n ? &calls->v[calls->n - 1] :
						  NULL;

	if (around)
		around->inner_ns = inv_calls_between(-f->whole.duration_ns,
						     around->inner_ns);
	set_whole(f, it, p, end);
}

static int ended(struct inv_flow *f, const struct inv_item *it,
		 struct inv_process *p, enum inv_call_end end)
{
	struct inv_calls *calls = inv_process_calls(p);
	struct inv_open_call *c = inv_calls_find(calls, f->mfa.hash);
	uint64_t since = returns(f, it->node, f->mfa.hash)->since;
	struct inv_ended_call x;

	if (c && c->item < since) {
		f->processes.forgotten_calls +=
			inv_calls_remove(calls, f->mfa.hash, since);
		c = NULL;
	}
	if (!c) {
		f->unmatched++;
		return 0;
	}
	inv_calls_end(calls, c, it->mono_ns, &x);
	learn(f, it->node, calls, &x);
	if (set_call(f, it, calls, end, &x))
		return INV_ENOMEM;
	/* The node's values are better: they also take account of calls that
	 * the node did not record. */
	if (it->ev.whole) {
		f->call.self_ns = f->whole.self_ns;
		f->call.depth = f->whole.depth;
		f->facts.depth = f->whole.depth;
	}
	return 0;
}

/* Returns true if a call of the function may have ended without a return event,
 * because its returns are not traced, or no longer traced. */
static bool is_doubtful(const struct inv_flow_function *x)
{
	return !x->returned || x->missed > 0 || x->calls >= SILENT;
}

/* The process exits in its innermost open call. If this call may have ended
 * earlier, without a return event, f->call.certain becomes false. */
static int exited(struct inv_flow *f, const struct inv_item *it,
		  struct inv_process *p)
{
	const struct inv_calls *calls = inv_process_calls(p);
	struct inv_ended_call x = { .depth = calls->n - 1 };

	f->exited = p;
	if (it->ev.whole && f->whole.has_event) {
		set_whole(f, it, p, INV_CALL_EXIT);
		return 0;
	}
	if (!calls->n)
		return 0;
	x.call = calls->v[calls->n - 1];
	if (set_call(f, it, calls, INV_CALL_EXIT, &x))
		return INV_ENOMEM;
	if (!x.call.ends && is_doubtful(function(f, it->node, x.call.mfa)))
		f->call.certain = false;
	return 0;
}

/* --- names ---------------------------------------------------------------- */

/* Reads the name that a process registers. */
static void registered(struct inv_flow *f, const struct inv_item *it,
		       struct inv_process *p)
{
	const struct inv_print_opts w = { .style = INV_PRINT_W,
					  .unicode = true,
					  .otp = it->node->otp_release };

	inv_buf_reset(&f->text);
	if (inv_event_payload(&it->ev, f->cursor) ||
	    inv_term_print(f->cursor, &f->text, &w) || f->text.error)
		return;
	inv_process_set_name(&f->processes, p, f->text.data, f->text.len, true);
}

static int noted_no_name(struct inv_flow *f, const struct inv_item *it,
			 const struct inv_process_key *key)
{
	struct inv_process *p = inv_processes_get(&f->processes, key);

	if (!p)
		return INV_ENOMEM;
	inv_process_set_awaited(p);
	f->feeds[it->feed].named = true;
	return 0;
}

/* Reads a note: the process, the kind of the name, and the name. */
static int noted_name(struct inv_flow *f, const struct inv_item *it)
{
	struct inv_process_key key;
	struct inv_process *p;
	struct inv_token tok;
	int64_t kind;

	if (inv_cursor_next(f->cursor, &tok) ||
	    !inv_process_key(&key, it->node, &tok) ||
	    inv_cursor_skip_rest(f->cursor, &tok) ||
	    inv_cursor_int(f->cursor, &kind))
		return 0;
	if (kind == INV_NAME_NONE)
		return noted_no_name(f, it, &key);
	inv_buf_reset(&f->text);
	if (!inv_noted_name(&f->text, f->cursor, &it->ev, &f->mfa, kind,
			    it->node->otp_release))
		return 0;
	if (f->text.error)
		return INV_ENOMEM;
	p = inv_processes_get(&f->processes, &key);
	if (!p)
		return INV_ENOMEM;
	/* A parent's name does not replace the process's own name. */
	if (kind == INV_NAME_CHILD && inv_process_name(p).len)
		return 0;
	inv_process_note_name(&f->processes, p, f->text.data, f->text.len,
			      (enum inv_note_name)kind, it->early);
	f->feeds[it->feed].named = true;
	return 0;
}

/* Sets *key to the process of the event. Returns false if the log of the event
 * cannot contain a note with the name of this process. */
static bool may_get_name(struct inv_flow *f, const struct inv_item *it,
			 struct inv_process_key *key)
{
	struct inv_token tok;

	return it->kind == INV_ITEM_EVENT && it->feed < f->n_feeds &&
	       f->feeds[it->feed].named && !it->ev.bare &&
	       it->ev.tag != INV_TAG_SEQ_TRACE &&
	       !inv_event_tracee(&it->ev, f->cursor, &tok) &&
	       inv_process_key(key, it->node, &tok) && key->kind == INV_TOK_PID;
}

bool inv_flow_awaits_name(struct inv_flow *f, const struct inv_item *it)
{
	struct inv_process_key key;
	const struct inv_process *p;

	if (!may_get_name(f, it, &key))
		return false;
	p = inv_processes_find(&f->processes, &key);
	return !p || inv_process_awaits_name(p);
}

void inv_flow_set_awaited(struct inv_flow *f, const struct inv_item *it)
{
	struct inv_process_key key;
	struct inv_process *p;

	if (!may_get_name(f, it, &key))
		return;
	p = inv_processes_get(&f->processes, &key);
	if (p)
		inv_process_set_awaited(p);
}

/* Reads {trace,Parent,spawn,Child,{M,F,Args}}, or {trace,Child,spawned,Parent,
 * {M,F,Args}}. Sets f->facts.mfa, and the name of the child. */
static void spawned(struct inv_flow *f, const struct inv_item *it,
		    const struct inv_process_key *tracee)
{
	const struct inv_print_opts w = { .style = INV_PRINT_W,
					  .unicode = true,
					  .otp = it->node->otp_release };
	struct inv_process_key key = *tracee;
	struct inv_process *p;
	struct inv_token tok;

	if (!it->ev.extra || inv_event_payload(&it->ev, f->cursor) ||
	    inv_cursor_next(f->cursor, &tok))
		return;
	if (it->ev.tag == INV_TAG_SPAWN &&
	    !inv_process_key(&key, it->node, &tok))
		return;
	if (inv_cursor_skip_rest(f->cursor, &tok) ||
	    inv_mfa_read(&f->mfa, f->cursor, &it->ev) != 1)
		return;
	f->facts.mfa = &f->mfa;
	inv_buf_reset(&f->text);
	inv_spawn_name(&f->text, f->cursor, &it->ev, &f->mfa, &w);
	/* If the table has this pid, it is the pid of an earlier process, which
	 * has ended. */
	p = inv_processes_find(&f->processes, &key);
	if (p)
		inv_processes_renew(&f->processes, p);
	p = f->text.error ? NULL : inv_processes_get(&f->processes, &key);
	if (p)
		inv_process_set_name(&f->processes, p, f->text.data,
				     f->text.len, false);
}

void inv_flow_show_call(struct inv_flow *f)
{
	f->facts.whole = f->call.event != NULL;
}

/* --- identities ----------------------------------------------------------- */

/* Finds the name of the node on which the process runs. */
static void find_node(struct inv_identity *id, const struct inv_node *node,
		      const struct inv_dict *dict, const struct inv_token *tok)
{
	const struct inv_dict_entry *e;

	if (!tok->node) {
		/* In the external format each pid and port contains the name of
		 * its node. In inviso's own encoding node 0 is the recorded
		 * node. */
		id->node = tok->len ? (const char *)tok->bytes : node->name;
		id->node_len = tok->len ? tok->len : strlen(node->name);
		return;
	}
	e = dict ? inv_dict_node(dict, tok->node) : NULL;
	if (e) {
		id->node = (const char *)e->bytes;
		id->node_len = e->len;
	}
}

bool inv_flow_identify(struct inv_flow *f, const struct inv_node *node,
		       const struct inv_dict *dict, const struct inv_token *tok,
		       struct inv_identity *id)
{
	struct inv_process_key key = { .kind = tok->kind };
	const struct inv_process *p;

	memset(id, 0, sizeof(*id));
	if (tok->kind != INV_TOK_PID && tok->kind != INV_TOK_PORT)
		return false;
	id->kind = tok->kind;
	id->number = key.number = tok->id[0];
	id->serial = key.serial = tok->kind == INV_TOK_PID ? tok->id[1] : 0;
	find_node(id, node, dict, tok);
	id->at = id->node == node->name ?
			 node :
			 node_called(f, id->node, id->node_len);
	if (!id->at)
		return true;
	key.node = id->at->number;
	p = inv_processes_find(&f->processes, &key);
	if (p)
		id->name = inv_process_name(p);
	return true;
}

/* --- events --------------------------------------------------------------- */

/* Returns true if the event's payload is {M,F,Arity} or {M,F,Args}, and reads
 * it into f->mfa. */
static bool has_mfa(struct inv_flow *f, const struct inv_event *ev)
{
	if (inv_event_payload(ev, f->cursor) ||
	    inv_mfa_read(&f->mfa, f->cursor, ev) != 1)
		return false;
	f->facts.mfa = &f->mfa;
	return true;
}

static int call_event(struct inv_flow *f, const struct inv_item *it,
		      const struct inv_process_key *key)
{
	struct inv_process *p = inv_processes_get(&f->processes, key);
	enum inv_call_end end = INV_CALL_EXCEPTION;

	if (!p)
		return INV_ENOMEM;
	f->facts.name = inv_process_name(p);
	/* A call or return that cannot be read has the same effect as a lost
	 * event. */
	if (!has_mfa(f, &it->ev)) {
		lose(f, it->node);
		return 0;
	}
	if (it->ev.tag == INV_TAG_CALL)
		return call(f, it, p);
	if (it->ev.tag == INV_TAG_RETURN_FROM)
		end = INV_CALL_RETURN;
	if (!it->ev.whole || !f->whole.has_event)
		return ended(f, it, p, end);
	ended_whole(f, it, p, end);
	return 0;
}

/* The facts of an event have the name that the process had before the event.
 * The event is going to change the name, so the old name is copied. */
static void hold_name(struct inv_flow *f)
{
	if (f->facts.name.len)
		memcpy(f->name, f->facts.name.text, f->facts.name.len);
	f->facts.name.text = f->name;
}

/* --- garbage collections -------------------------------------------------- */

static int gc_begins(struct inv_flow *f, const struct inv_item *it,
		     const struct inv_process_key *key)
{
	struct inv_process *p = inv_processes_get(&f->processes, key);

	if (!p)
		return INV_ENOMEM;
	*inv_process_gc(p) = (struct inv_open_gc){
		.open = true,
		.major = inv_gc_is_major(it->ev.tag),
		.begin_ns = it->mono_ns,
		.words = inv_gc_words(&it->ev, f->cursor),
		.item = f->items,
	};
	return 0;
}

/* Sets f->gc. But if events were lost since the collection began, the event may
 * be the end of another collection: then f->gc is not set. */
static void gc_ends(struct inv_flow *f, const struct inv_item *it,
		    struct inv_process *p)
{
	struct inv_open_gc *gc = inv_process_gc(p);

	if (gc->open && gc->major == inv_gc_is_major(it->ev.tag) &&
	    gc->item > f->nodes[it->node->number].lost &&
	    !is_untimed(&it->ev)) {
		f->gc = (struct inv_gc){
			.major = gc->major,
			.duration_ns =
				inv_calls_between(gc->begin_ns, it->mono_ns),
			.before = gc->words * 8,
			.after = inv_gc_words(&it->ev, f->cursor) * 8,
		};
		f->facts.gc = &f->gc;
	}
	gc->open = false;
}

/* --- events by tag -------------------------------------------------------- */

static int event(struct inv_flow *f, const struct inv_item *it,
		 const struct inv_process_key *key)
{
	struct inv_process *p = inv_processes_find(&f->processes, key);

	if (p)
		f->facts.name = inv_process_name(p);
	switch (it->ev.tag) {
	case INV_TAG_RETURN_TO:
	case INV_TAG_IN:
	case INV_TAG_OUT:
	case INV_TAG_IN_EXITING:
	case INV_TAG_OUT_EXITING:
	case INV_TAG_OUT_EXITED:
		has_mfa(f, &it->ev);
		return 0;
	case INV_TAG_EXIT:
		if (!p && it->ev.whole && f->whole.has_event)
			p = inv_processes_get(&f->processes, key);
		return p ? exited(f, it, p) : 0;
	case INV_TAG_GC_MINOR_START:
	case INV_TAG_GC_MAJOR_START:
		hold_name(f);
		return gc_begins(f, it, key);
	case INV_TAG_GC_MINOR_END:
	case INV_TAG_GC_MAJOR_END:
		if (p)
			gc_ends(f, it, p);
		return 0;
	case INV_TAG_REGISTER:
		hold_name(f);
		p = inv_processes_get(&f->processes, key);
		if (!p)
			return INV_ENOMEM;
		registered(f, it, p);
		return 0;
	case INV_TAG_UNREGISTER:
		hold_name(f);
		if (p)
			inv_process_unset_name(p);
		return 0;
	case INV_TAG_SPAWN:
	case INV_TAG_SPAWNED:
		hold_name(f);
		spawned(f, it, key);
		return 0;
	default:
		return 0;
	}
}

const struct inv_seq *inv_flow_seq(struct inv_flow *f,
				   const struct inv_item *it)
{
	f->seq_of = inv_seq_read(&f->seq, f->cursor, it) ? it : NULL;
	return f->seq_of ? &f->seq : NULL;
}

static int sequential(struct inv_flow *f, const struct inv_item *it)
{
	if (f->seq_of != it && !inv_flow_seq(f, it))
		return 0;
	f->seq_of = NULL;
	f->seq.ts_ns = it->ts_ns;
	if (inv_requests_add(&f->requests, &f->seq, &f->cause))
		return INV_ENOMEM;
	f->facts.cause = &f->cause;
	f->facts.label = inv_labels_of(&f->labels, &f->seq, &f->cause);
	return 0;
}

/* Reads the value of the event's match spec, which can begin a request. Only
 * the flow uses this value, so it is removed from the event. */
static int begins(struct inv_flow *f, struct inv_item *it)
{
	const struct inv_print_opts o = {
		.style = INV_PRINT_P,
		.unicode = true,
		.otp = it->node->otp_release,
		.syntax = f->facts.manner->elixir ? INV_SYNTAX_ELIXIR :
						    INV_SYNTAX_ERLANG,
	};

	struct inv_beginning b;

	if (!inv_labels_read(&b, f->cursor, it))
		return 0;
	it->ev.len = b.mark;
	it->ev.ms_result = false;
	if (!b.held && inv_requests_begin(&f->requests, b.process))
		return INV_ENOMEM;
	return inv_labels_begin(&f->labels, f->cursor, &b, &o);
}

static int derive(struct inv_flow *f, struct inv_item *it)
{
	struct inv_process_key key;
	struct inv_token tok;

	if (it->ev.tag == INV_TAG_SEQ_TRACE)
		return sequential(f, it);
	if (inv_unlikely(it->ev.ms_result) && begins(f, it))
		return INV_ENOMEM;
	/* The record of a call's end can contain facts about the whole call.
	 * Only the flow needs these facts, so they are removed from the
	 * event. */
	if (inv_unlikely(it->ev.whole)) {
		it->ev.whole = inv_whole_read(&f->whole, f->cursor, &it->ev);
		if (it->ev.whole)
			it->ev.len = f->whole.begin;
	}
	/* An event with invalid terms gets no facts. Sinks report it. */
	if (it->ev.bare || inv_event_tracee(&it->ev, f->cursor, &tok) ||
	    !inv_process_key(&key, it->node, &tok) ||
	    inv_cursor_skip_rest(f->cursor, &tok))
		return 0;
	switch (it->ev.tag) {
	case INV_TAG_CALL:
	case INV_TAG_RETURN_FROM:
	case INV_TAG_EXCEPTION_FROM:
		return call_event(f, it, &key);
	default:
		return event(f, it, &key);
	}
}

/* Reads the definition of a record. */
static int noted_record(struct inv_flow *f, const struct inv_item *it)
{
	struct inv_manner *m = &f->nodes[it->node->number].manner;

	if (!m->fields)
		m->fields = calloc(1, sizeof(*m->fields));
	return m->fields ? inv_fields_read(m->fields, f->cursor) : INV_ENOMEM;
}

static void noted_ends(struct inv_flow *f, struct inv_flow_feed *feed)
{
	struct inv_token tok;

	if (inv_cursor_next(f->cursor, &tok) || !inv_token_is(&tok, "true"))
		feed->no_marks = true;
	feed->marks = !feed->no_marks;
}

static int note(struct inv_flow *f, const struct inv_item *it)
{
	struct inv_token tok;

	inv_cursor_init(f->cursor, INV_ENC_PACKED, it->ev.dict, it->ev.terms,
			it->ev.len);

	switch (it->ev.note) {
	case INV_NOTE_NAME:
		return noted_name(f, it);
	case INV_NOTE_RECORD:
		return noted_record(f, it);
	case INV_NOTE_LANGUAGE:
		if (!inv_cursor_next(f->cursor, &tok) &&
		    inv_token_is(&tok, "elixir"))
			f->nodes[it->node->number].manner.elixir = true;
		return 0;
	case INV_NOTE_ENDS:
		noted_ends(f, &f->feeds[it->feed]);
		return 0;
	case INV_NOTE_SAMPLE:
		inv_profiling_sample(f, it);
		return 0;
	case INV_NOTE_SAMPLING:
		inv_profiling_sampling(f, it);
		return 0;
	default:
		return 0;
	}
}

/* Remembers that the node has lost events: a cause that is missing later can be
 * one of the lost events. */
static int lose_causes(struct inv_flow *f, const struct inv_item *it)
{
	struct inv_request_node *n =
		inv_requests_node(&f->requests, inv_seq_home(it->node));

	if (!n)
		return INV_ENOMEM;
	n->lost = true;
	return 0;
}

struct inv_item *inv_flow_item(struct inv_flow *f, struct inv_item *it)
{
	if (f->exited)
		inv_processes_drop(&f->processes, f->exited);
	f->exited = NULL;
	it->facts = NULL;
	f->items++;
	if (inv_unlikely(!is_known(f, it->node) || it->feed >= f->n_feeds ||
			 !f->feeds[it->feed].begun) &&
	    add_feed(f, it))
		return NULL;
	/* A process can run in any thread of its node. So if one thread of the
	 * node has lost events, they can be events of any process of the
	 * node. */
	if (inv_unlikely(it->kind == INV_ITEM_LOSS)) {
		lose(f, it->node);
		return lose_causes(f, it) ? NULL : it;
	}
	if (inv_unlikely(it->kind == INV_ITEM_NOTE))
		return note(f, it) ? NULL : it;
	f->facts = (struct inv_facts){
		.item = f->items,
		.flow = f,
		.manner = &f->nodes[it->node->number].manner,
	};
	if (derive(f, it))
		return NULL;
	it->facts = &f->facts;
	return it;
}
