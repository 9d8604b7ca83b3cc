/* SPDX-License-Identifier: Apache-2.0 */
/* The tables whose rows add up values of many events: processes, requests,
 * nodes and counts. */
#include <stdlib.h>
#include <string.h>

#include "table/rows_int.h"

/* A process that has not exited. */
struct life {
	struct inv_row held; /* the key is the hash of the process */
	uint32_t process;    /* the process, with its latest name */
	uint32_t parent;
	uint32_t function; /* the function that it was spawned to run */
	bool spawned, exited;
	bool running, scheduled, collected; /* running: the process runs now;
					       scheduled: a period of running
					       has ended; collected: a garbage
					       collection was seen */
	int64_t spawned_ns, exited_ns;
	int64_t first_ns, last_ns;
	int64_t in_ns; /* if running: since when */
	int64_t running_ns, self_ns, gc_ns;
	uint64_t events, calls, sent, received;
};

struct request {
	struct inv_row held; /* the key is the number of the request */
	uint32_t process;    /* the process whose event was the request's
				first */
	int64_t first_ns, last_ns;
	uint64_t events, messages, orphans;
	size_t label_len;
	uint8_t label[];
};

/* --- processes ------------------------------------------------------------ */

static void time_cell(struct inv_cell *c, bool known, int64_t ts_ns)
{
	if (known)
		inv__cell_int(c, ts_ns);
}

static void put_life(struct inv_rows *r, const struct life *p,
		     const struct inv_span *reason)
{
	struct inv_cell c[INV_PROCESSES_COUNT] = { 0 };

	inv__cell_number(&c[INV_PROCESSES_PROCESS], INV_CELL_PROCESS,
			 p->process);
	inv__cell_number(&c[INV_PROCESSES_PARENT], INV_CELL_PROCESS, p->parent);
	inv__cell_number(&c[INV_PROCESSES_FUNCTION], INV_CELL_FUNCTION,
			 p->function);
	time_cell(&c[INV_PROCESSES_SPAWNED_TS], p->spawned, p->spawned_ns);
	time_cell(&c[INV_PROCESSES_EXITED_TS], p->exited, p->exited_ns);
	if (reason)
		inv__cell_span(&c[INV_PROCESSES_REASON], r, reason);
	time_cell(&c[INV_PROCESSES_FIRST_TS], p->events, p->first_ns);
	time_cell(&c[INV_PROCESSES_LAST_TS], p->events, p->last_ns);
	inv__cell_int(&c[INV_PROCESSES_EVENTS], (int64_t)p->events);
	inv__cell_int(&c[INV_PROCESSES_CALLS], (int64_t)p->calls);
	inv__cell_int(&c[INV_PROCESSES_SENT], (int64_t)p->sent);
	inv__cell_int(&c[INV_PROCESSES_RECEIVED], (int64_t)p->received);
	inv__cell_int(&c[INV_PROCESSES_SELF_NS], p->self_ns);
	time_cell(&c[INV_PROCESSES_RUNNING_NS], p->scheduled, p->running_ns);
	time_cell(&c[INV_PROCESSES_GC_NS], p->collected, p->gc_ns);
	inv__rows_put(r, INV_TABLE_PROCESSES, c);
}

static void end_life(struct inv_rows *r, struct inv_row *held,
		     const struct inv_span *reason)
{
	put_life(r, (struct life *)held, reason);
	inv_row_set_remove(&r->lives, held);
	free(held);
}

/* Returns the process, and adds it if it is new. Returns NULL if `process' is 0 or
 * memory is exhausted. */
static struct life *life_of(struct inv_rows *r, uint32_t process)
{
	const struct inv_row_process *w = process ? &r->cast.v[process - 1] :
						    NULL;
	struct inv_row *held;
	struct life *p;
	uint64_t key;

	if (!w || w->kind == INV_TOK_ATOM)
		return NULL;
	key = inv_row_process_hash(w);
	held = inv_row_set_find(&r->lives, key);
	if (held)
		return (struct life *)held;
	while (r->lives.size > r->memory) {
		end_life(r, r->lives.oldest, NULL);
		r->forgotten++;
	}
	p = calloc(1, sizeof(*p));
	if (p) {
		p->held.key = key;
		p->held.size = sizeof(*p);
		p->process = process;
		if (!inv_row_set_add(&r->lives, &p->held))
			return p;
		free(p);
	}
	r->rc = INV_ENOMEM;
	return NULL;
}

static int64_t between(int64_t begin_ns, int64_t end_ns)
{
	return (int64_t)((uint64_t)end_ns - (uint64_t)begin_ns);
}

static void add_ns(int64_t *sum, int64_t ns)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)ns);
}

static void spawn(struct inv_rows *r, const struct inv_seen *s, uint32_t child,
		  uint32_t parent)
{
	struct life *p = life_of(r, child);

	if (!p)
		return;
	/* Parent and child each have an event for the spawn. The first of the
	 * two events is used. */
	if (!p->spawned)
		p->spawned_ns = s->it->ts_ns;
	p->spawned = true;
	p->parent = parent;
	p->function = s->function;
}

static void schedule(struct life *p, const struct inv_item *it)
{
	switch (it->ev.tag) {
	case INV_TAG_IN:
	case INV_TAG_IN_EXITING:
		p->running = true;
		p->in_ns = it->ts_ns;
		return;
	case INV_TAG_OUT:
	case INV_TAG_OUT_EXITING:
	case INV_TAG_OUT_EXITED:
		p->scheduled |= p->running;
		if (p->running)
			add_ns(&p->running_ns, between(p->in_ns, it->ts_ns));
		p->running = false;
		return;
	default:
		return;
	}
}

static void count(struct life *p, const struct inv_seen *s)
{
	const struct inv_facts *facts = s->it->facts;
	unsigned tag = s->it->ev.tag;

	if (!p->events++)
		p->first_ns = s->it->ts_ns;
	p->last_ns = s->it->ts_ns;
	p->process = s->process;
	p->calls += tag == INV_TAG_CALL;
	p->sent += tag == INV_TAG_SEND || tag == INV_TAG_SEND_NO_PROC;
	p->received += tag == INV_TAG_RECEIVE;
	if (facts->call)
		add_ns(&p->self_ns, facts->call->self_ns);
	p->collected |= facts->gc != NULL;
	if (facts->gc)
		add_ns(&p->gc_ns, facts->gc->duration_ns);
	schedule(p, s->it);
}

/* --- requests ------------------------------------------------------------- */

static void put_request(struct inv_rows *r, const struct request *q)
{
	struct inv_cell c[INV_REQUESTS_COUNT] = { 0 };

	inv__cell_int(&c[INV_REQUESTS_REQUEST], (int64_t)q->held.key);
	inv__cell_text(&c[INV_REQUESTS_LABEL], q->label, q->label_len);
	inv__cell_number(&c[INV_REQUESTS_PROCESS], INV_CELL_PROCESS,
			 q->process);
	inv__cell_int(&c[INV_REQUESTS_FIRST_TS], q->first_ns);
	inv__cell_int(&c[INV_REQUESTS_LAST_TS], q->last_ns);
	inv__cell_int(&c[INV_REQUESTS_DURATION_NS],
		      between(q->first_ns, q->last_ns));
	inv__cell_int(&c[INV_REQUESTS_EVENTS], (int64_t)q->events);
	inv__cell_int(&c[INV_REQUESTS_MESSAGES], (int64_t)q->messages);
	inv__cell_int(&c[INV_REQUESTS_ORPHANS], (int64_t)q->orphans);
	inv__rows_put(r, INV_TABLE_REQUESTS, c);
}

static void end_request(struct inv_rows *r, struct inv_row *held)
{
	put_request(r, (struct request *)held);
	inv_row_set_remove(&r->requests, held);
	free(held);
}

/* Prints the label of the request: the values that --label names, or else the
 * label of the token. */
static int label(struct inv_rows *r, const struct inv_seen *s,
		 struct inv_span *text)
{
	const char *given = s->it->facts->label;
	struct inv_token tok;
	int rc;

	text->off = r->text.len;
	if (given) {
		inv_buf_puts(&r->text, given);
	} else {
		rc = inv_event_tracee(&s->it->ev, r->cursor, &tok);
		if (!rc)
			rc = inv_term_print_token(r->cursor, &tok, &r->text,
						  r->print);
		if (rc)
			return rc;
	}
	text->len = r->text.len - text->off;
	return 0;
}

static struct request *new_request(struct inv_rows *r, const struct inv_seen *s)
{
	struct inv_span text = { 0 };
	struct request *q;
	size_t size;

	if (label(r, s, &text) || r->text.error)
		text.len = 0;
	while (r->requests.size > r->memory) {
		end_request(r, r->requests.oldest);
		r->forgotten++;
	}
	size = sizeof(*q) + text.len;
	q = malloc(size);
	if (!q) {
		r->rc = INV_ENOMEM;
		return NULL;
	}
	*q = (struct request){
		.held = { .key = s->it->facts->cause->request, .size = size },
		.process = s->process,
		.first_ns = s->it->ts_ns,
		.label_len = text.len,
	};
	if (text.len)
		memcpy(q->label, r->text.data + text.off, text.len);
	if (!inv_row_set_add(&r->requests, &q->held))
		return q;
	free(q);
	r->rc = INV_ENOMEM;
	return NULL;
}

static void request(struct inv_rows *r, const struct inv_seen *s)
{
	const struct inv_cause *cause = s->it->facts->cause;
	struct request *q = (struct request *)inv_row_set_find(&r->requests,
							       cause->request);

	if (!q)
		q = new_request(r, s);
	if (!q)
		return;
	q->last_ns = s->it->ts_ns;
	q->events++;
	q->messages += s->seq_kind == INV_SEQ_RECEIVE;
	q->orphans += cause->orphan != INV_ORPHAN_NOT;
}

/* -------------------------------------------------------------------------- */

void inv__rows_live(struct inv_rows *r, const struct inv_seen *s)
{
	struct life *p;

	if (s->it->facts->cause)
		request(r, s);
	if (s->it->ev.tag == INV_TAG_SPAWN)
		spawn(r, s, s->peer, s->process);
	else if (s->it->ev.tag == INV_TAG_SPAWNED)
		spawn(r, s, s->process, s->peer);
	p = life_of(r, s->process);
	if (!p)
		return;
	count(p, s);
	if (s->it->ev.tag == INV_TAG_EXIT || s->it->ev.tag == INV_TAG_CLOSED) {
		p->exited = true;
		p->exited_ns = s->it->ts_ns;
		end_life(r, &p->held, &s->payload);
	}
}

static void put_node(struct inv_rows *r, const struct inv_rows_node *n)
{
	struct inv_cell c[INV_NODES_COUNT] = { 0 };
	bool known = n->first_ns <= n->last_ns;

	inv__cell_number(&c[INV_NODES_NODE], INV_CELL_WORD, n->word);
	if (n->node->otp_release)
		inv__cell_int(&c[INV_NODES_OTP_RELEASE], n->node->otp_release);
	time_cell(&c[INV_NODES_FIRST_TS], known, n->first_ns);
	time_cell(&c[INV_NODES_LAST_TS], known, n->last_ns);
	inv__cell_int(&c[INV_NODES_EVENTS], (int64_t)n->events);
	inv__cell_int(&c[INV_NODES_LOST], (int64_t)n->lost);
	inv__rows_put(r, INV_TABLE_NODES, c);
}

void inv__rows_lives_end(struct inv_rows *r)
{
	while (r->lives.oldest)
		end_life(r, r->lives.oldest, NULL);
	while (r->requests.oldest)
		end_request(r, r->requests.oldest);
	for (uint32_t i = 0; i < r->n_nodes; i++)
		if (r->nodes[i].node)
			put_node(r, &r->nodes[i]);
}

/* --- counts --------------------------------------------------------------- */

static void put_histogram(struct inv_rows *r, const struct inv_cell *count,
			  const struct inv_histogram *h, bool times)
{
	const unsigned from = times ? INV_HISTOGRAMS_FROM_NS :
				      INV_HISTOGRAMS_FROM;
	const unsigned to = times ? INV_HISTOGRAMS_TO_NS : INV_HISTOGRAMS_TO;
	struct inv_cell c[INV_HISTOGRAMS_COUNT] = { 0 };

	c[INV_HISTOGRAMS_NODE] = count[INV_COUNTS_NODE];
	c[INV_HISTOGRAMS_COUNTED] = count[INV_COUNTS_COUNTED];
	c[INV_HISTOGRAMS_KEY] = count[INV_COUNTS_KEY];
	c[INV_HISTOGRAMS_MEASURED] = count[INV_COUNTS_MEASURED];
	for (uint32_t block = 0; block < INV_BUCKETS_BLOCKS; block++)
		for (uint32_t i = 0; h->blocks[block] && i < INV_BUCKETS; i++) {
			uint64_t n = inv_histogram_at(h, block, i), width;
			uint64_t low = inv_buckets_low(block, i, &width);

			if (!n)
				continue;
			inv__cell_int(&c[from], (int64_t)low);
			inv__cell_int(&c[to], (int64_t)(low + width));
			inv__cell_int(&c[INV_HISTOGRAMS_N], (int64_t)n);
			inv__rows_put(r, INV_TABLE_HISTOGRAMS, c);
		}
}

const char *inv_rows_counted(enum inv_count_of of)
{
	static const char *const words[] = {
		"total",  "function", "tag",	"process",  "others",
		"caller", "value",    "failed", "exception"
	};

	return (size_t)of < sizeof(words) / sizeof(*words) ? words[of] :
							     "unknown";
}

static void put_count(struct inv_rows *r, const struct inv_tallied *k)
{
	struct inv_cell c[INV_COUNTS_COUNT] = { 0 };
	const struct inv_rows_node *n = inv__rows_node(r, k->node);
	const struct inv_histogram *h = k->times;
	bool times = !k->measure;

	if (!n)
		return;
	inv__cell_number(&c[INV_COUNTS_NODE], INV_CELL_WORD, n->word);
	inv__rows_word(r, &c[INV_COUNTS_COUNTED], inv_rows_counted(k->of));
	inv__cell_text(&c[INV_COUNTS_KEY], k->key, strlen(k->key));
	inv__cell_int(&c[INV_COUNTS_N], (int64_t)k->n);
	if (k->measure)
		inv__cell_text(&c[INV_COUNTS_MEASURED], k->measure,
			       strlen(k->measure));
	if (h)
		inv__cell_int(&c[INV_COUNTS_UNPAIRED], (int64_t)h->unpaired);
	if (h && h->n) {
		inv__cell_int(&c[times ? INV_COUNTS_MIN_NS : INV_COUNTS_MIN],
			      (int64_t)h->min);
		inv__cell_int(&c[times ? INV_COUNTS_MAX_NS : INV_COUNTS_MAX],
			      (int64_t)h->max);
		inv__cell_int(&c[times ? INV_COUNTS_SUM_NS : INV_COUNTS_SUM],
			      (int64_t)h->sum);
	}
	inv__rows_put(r, INV_TABLE_COUNTS, c);
	if (h)
		put_histogram(r, c, h, times);
}

void inv_rows_counts(struct inv_rows *r, const struct inv_tallies *t)
{
	const struct inv_tallied *k = NULL;

	while (!r->rc && (k = inv_tallies_next(t, k)))
		put_count(r, k);
}
