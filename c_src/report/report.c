/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the rows of all tables, and adds them up. */
#include "report/report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/err.h"

/* --- cells ---------------------------------------------------------------- */

static bool is_set(const struct inv_cell *c)
{
	return c->kind != INV_CELL_NULL;
}

static int64_t integer(const struct inv_cell *c)
{
	return c->kind == INV_CELL_INT ? c->i : 0;
}

static uint64_t counter(const struct inv_cell *c)
{
	return (uint64_t)integer(c);
}

/* Returns the time in a cell. In a damaged log a time can be negative; it
 * counts as 0. */
static uint64_t duration(const struct inv_cell *c)
{
	int64_t ns = integer(c);

	return ns < 0 ? 0 : (uint64_t)ns;
}

/* Returns the number of a word, process or function; 0: none. */
static uint32_t number(const struct inv_cell *c)
{
	return is_set(c) && c->kind != INV_CELL_INT &&
			       c->kind != INV_CELL_TEXT ?
		       c->number :
		       0;
}

static const struct inv_row_process *process_of(const struct inv_report *r,
						uint32_t process)
{
	return process ? &r->cast->v[process - 1] : NULL;
}

static uint64_t node_of(const struct inv_report *r, uint32_t process)
{
	return process ? r->cast->v[process - 1].node : 0;
}

static uint64_t name_of(const struct inv_report *r, uint32_t process)
{
	return process ? r->cast->v[process - 1].name : 0;
}

static struct inv_keyed_row *row_of(struct inv_keyed *t, uint64_t a, uint64_t b,
				    uint64_t c, uint64_t d)
{
	const uint64_t key[INV_KEYED_PARTS] = { a, b, c, d };

	return inv_keyed_get(t, key);
}

/* --- texts ---------------------------------------------------------------- */

static bool is_long(const struct inv_cell *c)
{
	return c->text.n > INV_REPORT_TEXT;
}

/* Returns the memory that the text of a cell takes. */
static size_t room(const struct inv_cell *c)
{
	if (c->kind != INV_CELL_TEXT)
		return 0;
	return is_long(c) ? INV_REPORT_TEXT + sizeof("\xe2\x80\xa6") :
			    c->text.n + 1;
}

/* Copies the text of a cell to `at', ended by a NUL, and cut if it is long.
 * Returns the memory that it takes. */
static size_t copy(const struct inv_cell *c, char *at,
		   struct inv_report_text *text)
{
	size_t n;

	*text = (struct inv_report_text){ 0 };
	if (c->kind != INV_CELL_TEXT)
		return 0;
	n = is_long(c) ? INV_REPORT_TEXT : c->text.n;
	/* Does not cut inside a character. */
	while (is_long(c) && n && (c->text.p[n] & 0xc0) == 0x80)
		n--;
	if (n)
		memcpy(at, c->text.p, n);
	text->p = at;
	text->n = n;
	if (is_long(c)) {
		memcpy(at + n, "\xe2\x80\xa6", 3);
		text->n += 3;
	}
	at[text->n] = 0;
	return room(c);
}

/* --- calls ---------------------------------------------------------------- */

static struct inv_report_call *new_call(const struct inv_cell *c)
{
	const struct inv_cell *args = &c[INV_CALLS_ARGS];
	const struct inv_cell *result = &c[INV_CALLS_RESULT];
	struct inv_report_call *call =
		calloc(1, sizeof(*call) + room(args) + room(result));
	char *at = (char *)(call + 1);

	if (!call)
		return NULL;
	*call = (struct inv_report_call){
		.top = { .value = integer(&c[INV_CALLS_DURATION_NS]) },
		.ts_ns = integer(&c[INV_CALLS_TS]),
		.self_ns = integer(&c[INV_CALLS_SELF_NS]),
		.id = counter(&c[INV_CALLS_ID]),
		.process = number(&c[INV_CALLS_PROCESS]),
		.function = number(&c[INV_CALLS_FUNCTION]),
		.outcome = number(&c[INV_CALLS_OUTCOME]),
		.failed = integer(&c[INV_CALLS_FAILED]) != 0,
		.certain = integer(&c[INV_CALLS_CERTAIN]) != 0,
		.has_duration = is_set(&c[INV_CALLS_DURATION_NS]),
	};
	at += copy(args, at, &call->args);
	copy(result, at, &call->result);
	return call;
}

static int keep_slowest(struct inv_report *r, const struct inv_cell *c)
{
	struct inv_top *t = &r->calls.slowest;
	struct inv_report_call *call;
	int rc;

	if (!inv_top_admits(t, integer(&c[INV_CALLS_DURATION_NS])))
		return 0;
	call = new_call(c);
	if (!call)
		return INV_ENOMEM;
	call->top.order = call->id;
	rc = inv_top_add(t, call);
	if (rc)
		free(call);
	return rc;
}

static int keep_failure(struct inv_report *r, const struct inv_cell *c,
			struct inv_keyed_row *f)
{
	struct inv_report_text text;

	if (!f->text && c[INV_CALLS_RESULT].kind == INV_CELL_TEXT) {
		f->text = malloc(room(&c[INV_CALLS_RESULT]));
		if (!f->text)
			return INV_ENOMEM;
		copy(&c[INV_CALLS_RESULT], f->text, &text);
	}
	if (r->calls.n_failures == INV_REPORT_KEPT)
		return 0;
	r->calls.failures[r->calls.n_failures] = new_call(c);
	return r->calls.failures[r->calls.n_failures++] ? 0 : INV_ENOMEM;
}

static int slice_call(struct inv_report *r, const struct inv_cell *c)
{
	bool failed = integer(&c[INV_CALLS_FAILED]) != 0;
	int64_t ts_ns = integer(&c[INV_CALLS_TS]);
	const struct inv_slice slice = {
		.top = { .value = integer(&c[INV_CALLS_DURATION_NS]) },
		.begin_ns = ts_ns,
		.function = number(&c[INV_CALLS_FUNCTION]),
		.depth = (uint16_t)(integer(&c[INV_CALLS_DEPTH]) & 0xffff),
		.kind = failed ? INV_SLICE_FAILED : INV_SLICE_CALL,
	};

	if (!r->has_timeline || slice.top.value < 0)
		return 0;
	if (failed)
		inv_timeline_bin(&r->timeline, ts_ns)->failed++;
	return inv_timeline_slice(&r->timeline, r->cast,
				  number(&c[INV_CALLS_PROCESS]), &slice);
}

static int add_call(struct inv_report *r, const struct inv_cell *c)
{
	struct inv_keyed_row *f =
		row_of(&r->functions, number(&c[INV_CALLS_FUNCTION]), 0, 0, 0);
	uint64_t ns = duration(&c[INV_CALLS_DURATION_NS]);
	int rc = 0;

	if (!f)
		return INV_ENOMEM;
	r->calls.n++;
	f->v[INV_FUNCTION_CALLS]++;
	if (integer(&c[INV_CALLS_FAILED])) {
		r->calls.failed++;
		f->v[INV_FUNCTION_FAILED]++;
		rc = keep_failure(r, c, f);
	}
	if (rc || !is_set(&c[INV_CALLS_DURATION_NS]))
		return rc;
	r->calls.ended++;
	r->calls.uncertain += !integer(&c[INV_CALLS_CERTAIN]);
	f->v[INV_FUNCTION_ENDED]++;
	f->v[INV_FUNCTION_SELF] += duration(&c[INV_CALLS_SELF_NS]);
	f->v[INV_FUNCTION_TOTAL] += ns;
	if (ns > f->v[INV_KEYED_MAX])
		f->v[INV_KEYED_MAX] = ns;
	rc = inv_keyed_time(f, ns);
	if (!rc)
		rc = keep_slowest(r, c);
	return rc ? rc : slice_call(r, c);
}

/* --- other rows ----------------------------------------------------------- */

static int add_event(struct inv_report *r, const struct inv_cell *c)
{
	uint32_t process = number(&c[INV_EVENTS_PROCESS]);
	struct inv_keyed_row *tag = row_of(&r->tags, number(&c[INV_EVENTS_TAG]),
					   node_of(r, process), 0, 0);

	r->events++;
	if (!tag)
		return INV_ENOMEM;
	tag->v[0]++;
	if (!r->has_timeline)
		return 0;
	return inv_timeline_event(&r->timeline, r->cast, process,
				  integer(&c[INV_EVENTS_TS]));
}

static int add_loss(struct inv_report *r, const struct inv_cell *c)
{
	struct inv_keyed_row *row = row_of(&r->losses,
					   number(&c[INV_LOSSES_NODE]),
					   number(&c[INV_LOSSES_REASON]), 0, 0);

	if (!row)
		return INV_ENOMEM;
	row->v[0] += counter(&c[INV_LOSSES_N]);
	row->v[1]++;
	if (r->has_timeline)
		inv_timeline_bin(&r->timeline, integer(&c[INV_LOSSES_TS]))
			->lost += counter(&c[INV_LOSSES_N]);
	return 0;
}

static void add_message_to(struct inv_keyed_row *row, const struct inv_cell *c)
{
	uint64_t ns = duration(&c[INV_MESSAGES_WAIT_NS]);

	row->v[INV_MESSAGES_ALL]++;
	row->v[INV_MESSAGES_GOT] += is_set(&c[INV_MESSAGES_RECEIVED_ID]);
	row->v[INV_MESSAGES_OF_REQUESTS] += is_set(&c[INV_MESSAGES_REQUEST]);
	if (!is_set(&c[INV_MESSAGES_WAIT_NS]))
		return;
	row->v[INV_MESSAGES_WAITED]++;
	row->v[INV_MESSAGES_WAIT] += ns;
	if (ns > row->v[INV_KEYED_MAX])
		row->v[INV_KEYED_MAX] = ns;
}

static int add_message(struct inv_report *r, const struct inv_cell *c)
{
	uint32_t from = number(&c[INV_MESSAGES_FROM]);
	uint32_t to = number(&c[INV_MESSAGES_TO]);
	const struct inv_row_process *w = process_of(r, to);
	struct inv_keyed_row *row;

	r->messages.n++;
	r->messages.received += is_set(&c[INV_MESSAGES_RECEIVED_ID]);
	r->messages.waited += is_set(&c[INV_MESSAGES_WAIT_NS]);
	if (to) {
		row = w->name ? row_of(&r->mailboxes, w->node, w->name, 0, 0) :
				row_of(&r->mailboxes, w->node, 0, w->number,
				       w->serial << 8 | w->kind);
		if (!row)
			return INV_ENOMEM;
		add_message_to(row, c);
	}
	if (!is_set(&c[INV_MESSAGES_SENT_TS]))
		return 0;
	row = row_of(&r->flows, node_of(r, from), name_of(r, from),
		     node_of(r, to), name_of(r, to));
	if (!row)
		return INV_ENOMEM;
	add_message_to(row, c);
	return 0;
}

static int add_exit(struct inv_report *r, const struct inv_cell *c)
{
	static const char *const good[] = { "normal", "shutdown", ":normal",
					    ":shutdown" };
	const struct inv_cell *reason = &c[INV_PROCESSES_REASON];
	struct inv_report_text text;
	struct inv_keyed_row *row;

	r->processes.exited++;
	if (reason->kind != INV_CELL_TEXT)
		return 0;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (reason->text.n == strlen(good[i]) &&
		    !memcmp(reason->text.p, good[i], reason->text.n))
			return 0;
	r->processes.abnormal++;
	row = row_of(&r->exits, XXH3_64bits(reason->text.p, reason->text.n), 0,
		     0, 0);
	if (!row)
		return INV_ENOMEM;
	row->v[0]++;
	if (row->text)
		return 0;
	row->v[1] = number(&c[INV_PROCESSES_PROCESS]);
	row->text = malloc(room(reason));
	if (!row->text)
		return INV_ENOMEM;
	copy(reason, row->text, &text);
	return 0;
}

static int keep_process(struct inv_report *r, const struct inv_cell *c)
{
	struct inv_top *t = &r->processes.busiest;
	int64_t events = integer(&c[INV_PROCESSES_EVENTS]);
	struct inv_report_process *p;

	if (!inv_top_admits(t, events))
		return 0;
	p = malloc(sizeof(*p));
	if (!p)
		return INV_ENOMEM;
	*p = (struct inv_report_process){
		.top = { .value = events, .order = t->seen },
		.process = number(&c[INV_PROCESSES_PROCESS]),
		.events = (uint64_t)events,
		.calls = counter(&c[INV_PROCESSES_CALLS]),
		.sent = counter(&c[INV_PROCESSES_SENT]),
		.received = counter(&c[INV_PROCESSES_RECEIVED]),
		.self_ns = integer(&c[INV_PROCESSES_SELF_NS]),
		.running_ns = integer(&c[INV_PROCESSES_RUNNING_NS]),
		.gc_ns = integer(&c[INV_PROCESSES_GC_NS]),
	};
	if (!inv_top_add(t, p))
		return 0;
	free(p);
	return INV_ENOMEM;
}

static int add_process(struct inv_report *r, const struct inv_cell *c)
{
	uint32_t process = number(&c[INV_PROCESSES_PROCESS]);
	struct inv_keyed_row *kind = row_of(&r->kinds, node_of(r, process),
					    name_of(r, process), 0, 0);
	int rc = 0;

	if (!kind)
		return INV_ENOMEM;
	r->processes.n++;
	r->processes.spawned += is_set(&c[INV_PROCESSES_SPAWNED_TS]);
	kind->v[INV_KIND_PROCESSES]++;
	kind->v[INV_KIND_EVENTS] += counter(&c[INV_PROCESSES_EVENTS]);
	kind->v[INV_KIND_CALLS] += counter(&c[INV_PROCESSES_CALLS]);
	kind->v[INV_KIND_SENT] += counter(&c[INV_PROCESSES_SENT]);
	kind->v[INV_KIND_RECEIVED] += counter(&c[INV_PROCESSES_RECEIVED]);
	kind->v[INV_KIND_SELF] += duration(&c[INV_PROCESSES_SELF_NS]);
	kind->v[INV_KIND_RUNNING] += duration(&c[INV_PROCESSES_RUNNING_NS]);
	kind->v[INV_KIND_GC] += duration(&c[INV_PROCESSES_GC_NS]);
	if (is_set(&c[INV_PROCESSES_EXITED_TS]))
		rc = add_exit(r, c);
	return rc ? rc : keep_process(r, c);
}

static int add_collection(struct inv_report *r, const struct inv_cell *c)
{
	struct inv_top *t = &r->gc.longest;
	struct inv_report_gc *gc;
	const struct inv_slice slice = {
		.top = { .value = integer(&c[INV_COLLECTIONS_DURATION_NS]) },
		.begin_ns = integer(&c[INV_COLLECTIONS_TS]),
		.kind = INV_SLICE_GC,
	};
	uint32_t process = number(&c[INV_COLLECTIONS_PROCESS]);
	int rc = 0;

	r->gc.n++;
	r->gc.major += integer(&c[INV_COLLECTIONS_MAJOR]) != 0;
	r->gc.ns += duration(&c[INV_COLLECTIONS_DURATION_NS]);
	if (r->has_timeline && slice.top.value >= 0)
		rc = inv_timeline_slice(&r->timeline, r->cast, process, &slice);
	if (rc || !inv_top_admits(t, slice.top.value))
		return rc;
	gc = malloc(sizeof(*gc));
	if (!gc)
		return INV_ENOMEM;
	*gc = (struct inv_report_gc){
		.top = { .value = slice.top.value, .order = t->seen },
		.ts_ns = slice.begin_ns,
		.before = counter(&c[INV_COLLECTIONS_BEFORE_BYTES]),
		.after = counter(&c[INV_COLLECTIONS_AFTER_BYTES]),
		.process = process,
		.major = integer(&c[INV_COLLECTIONS_MAJOR]) != 0,
	};
	rc = inv_top_add(t, gc);
	if (rc)
		free(gc);
	return rc;
}

static int add_request(struct inv_report *r, const struct inv_cell *c)
{
	struct inv_top *t = &r->requests.slowest;
	int64_t ns = integer(&c[INV_REQUESTS_DURATION_NS]);
	struct inv_report_request *q;

	r->requests.n++;
	if (inv_histogram_insert(&r->requests.times,
				 duration(&c[INV_REQUESTS_DURATION_NS])))
		return INV_ENOMEM;
	if (!inv_top_admits(t, ns))
		return 0;
	q = calloc(1, sizeof(*q) + room(&c[INV_REQUESTS_LABEL]));
	if (!q)
		return INV_ENOMEM;
	*q = (struct inv_report_request){
		.request = counter(&c[INV_REQUESTS_REQUEST]),
		.events = counter(&c[INV_REQUESTS_EVENTS]),
		.messages = counter(&c[INV_REQUESTS_MESSAGES]),
		.orphans = counter(&c[INV_REQUESTS_ORPHANS]),
		.first_ns = integer(&c[INV_REQUESTS_FIRST_TS]),
		.process = number(&c[INV_REQUESTS_PROCESS]),
	};
	q->top = (struct inv_top_entry){ ns, q->request };
	copy(&c[INV_REQUESTS_LABEL], (char *)(q + 1), &q->label);
	if (!inv_top_add(t, q))
		return 0;
	free(q);
	return INV_ENOMEM;
}

static int add_node(struct inv_report *r, const struct inv_cell *c)
{
	struct inv_report_node *v =
		realloc(r->nodes, ((size_t)r->n_nodes + 1) * sizeof(*v));
	struct inv_report_node *n;

	if (!v)
		return INV_ENOMEM;
	r->nodes = v;
	n = &v[r->n_nodes++];
	*n = (struct inv_report_node){
		.node = number(&c[INV_NODES_NODE]),
		.otp_release = (unsigned)integer(&c[INV_NODES_OTP_RELEASE]),
		.known = is_set(&c[INV_NODES_FIRST_TS]),
		.first_ns = integer(&c[INV_NODES_FIRST_TS]),
		.last_ns = integer(&c[INV_NODES_LAST_TS]),
		.events = counter(&c[INV_NODES_EVENTS]),
		.lost = counter(&c[INV_NODES_LOST]),
	};
	if (n->known && n->first_ns < r->begin_ns)
		r->begin_ns = n->first_ns;
	if (n->known && n->last_ns > r->end_ns)
		r->end_ns = n->last_ns;
	return 0;
}

static int put(struct inv_row_writer *w, const struct inv_cast *cast,
	       enum inv_table_id table, const struct inv_cell *cells)
{
	static int (*const add[INV_TABLE_COUNT])(struct inv_report *,
						 const struct inv_cell *) = {
		[INV_TABLE_EVENTS] = add_event,
		[INV_TABLE_CALLS] = add_call,
		[INV_TABLE_MESSAGES] = add_message,
		[INV_TABLE_PROCESSES] = add_process,
		[INV_TABLE_COLLECTIONS] = add_collection,
		[INV_TABLE_LOSSES] = add_loss,
		[INV_TABLE_NODES] = add_node,
		[INV_TABLE_REQUESTS] = add_request,
	};
	struct inv_report *r =
		(struct inv_report *)((char *)w -
				      offsetof(struct inv_report, writer));

	r->cast = cast;
	return add[table] ? add[table](r, cells) : 0;
}

/* --- begin and end -------------------------------------------------------- */

int inv_report_init(struct inv_report *r, struct inv_sink *s, bool page)
{
	struct inv_top *const tops[] = {
		&r->calls.slowest, &r->processes.busiest,
		&r->gc.longest,	   &r->requests.slowest,
		&r->counts,
	};

	r->writer.put = put;
	r->begin_ns = INT64_MAX;
	r->end_ns = INT64_MIN;
	for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
		tops[i]->most = INV_REPORT_KEPT;
	inv_keyed_init(&r->tags, INV_REPORT_KEYS);
	inv_keyed_init(&r->losses, INV_REPORT_KEYS);
	inv_keyed_init(&r->functions, INV_REPORT_FUNCTIONS);
	inv_keyed_init(&r->kinds, INV_REPORT_KEYS);
	inv_keyed_init(&r->mailboxes, INV_REPORT_KEYS);
	inv_keyed_init(&r->flows, INV_REPORT_KEYS);
	inv_keyed_init(&r->exits, INV_REPORT_REASONS);
	r->has_timeline = page;
	if (page && inv_timeline_init(&r->timeline))
		return INV_ENOMEM;
	return inv_rows_init(&r->rows, &r->writer, s->cursor, &s->print);
}

void inv_report_release(struct inv_report *r)
{
	for (size_t i = 0; i < r->calls.n_failures; i++)
		free(r->calls.failures[i]);
	inv_top_release(&r->calls.slowest);
	inv_top_release(&r->processes.busiest);
	inv_top_release(&r->gc.longest);
	inv_top_release(&r->requests.slowest);
	inv_top_release(&r->counts);
	inv_keyed_release(&r->tags);
	inv_keyed_release(&r->losses);
	inv_keyed_release(&r->functions);
	inv_keyed_release(&r->kinds);
	inv_keyed_release(&r->mailboxes);
	inv_keyed_release(&r->flows);
	inv_keyed_release(&r->exits);
	inv_histogram_release(&r->requests.times);
	free(r->nodes);
	inv_timeline_release(&r->timeline);
	inv_charts_release(&r->charts);
	inv_rows_release(&r->rows);
}

void inv_report_counts(struct inv_report *r, const struct inv_tallies *t)
{
	const struct inv_tallied *k = NULL;

	while (!r->rows.rc && (k = inv_tallies_next(t, k))) {
		int64_t n = k->n > INT64_MAX ? INT64_MAX : (int64_t)k->n;
		struct inv_report_count *count;

		if (!inv_top_admits(&r->counts, n))
			continue;
		count = malloc(sizeof(*count));
		if (count) {
			*count = (struct inv_report_count){
				{ n, r->counts.seen }, k
			};
			if (!inv_top_add(&r->counts, count))
				continue;
			free(count);
		}
		r->rows.rc = INV_ENOMEM;
	}
}

bool inv_report_is_loss(const struct inv_report *r,
			const struct inv_keyed_row *row)
{
	const char *limit = inv_lost_text(INV_LOSS_LIMIT);
	size_t len;
	const char *reason = inv_report_word(r, row->key[1], &len);

	return len != strlen(limit) || memcmp(reason, limit, len) != 0;
}

/* Subtracts the events that came after the limit of a recording from the nodes'
 * counts of lost events. */
static void subtract_limit(struct inv_report *r)
{
	for (size_t i = 0; i < r->losses.n; i++)
		for (uint32_t k = 0; k < r->n_nodes; k++)
			if (r->nodes[k].node == r->losses.rows[i].key[0] &&
			    !inv_report_is_loss(r, &r->losses.rows[i]))
				r->nodes[k].lost -= r->losses.rows[i].v[0];
}

void inv_report_finish(struct inv_report *r)
{
	subtract_limit(r);
	inv_top_sort(&r->calls.slowest);
	inv_top_sort(&r->processes.busiest);
	inv_top_sort(&r->gc.longest);
	inv_top_sort(&r->requests.slowest);
	inv_top_sort(&r->counts);
	inv_keyed_sort(&r->tags, 0, 0);
	inv_keyed_sort(&r->losses, 0, 0);
	inv_keyed_sort(&r->functions, INV_FUNCTION_SELF, INV_FUNCTION_CALLS);
	inv_keyed_sort(&r->kinds, INV_KIND_SELF, INV_KIND_EVENTS);
	inv_keyed_sort(&r->mailboxes, INV_MESSAGES_ALL, INV_MESSAGES_WAIT);
	inv_keyed_sort(&r->flows, INV_MESSAGES_ALL, INV_MESSAGES_WAIT);
	inv_keyed_sort(&r->exits, 0, 0);
}

const char *inv_report_word(const struct inv_report *r, uint64_t word,
			    size_t *len)
{
	*len = 0;
	if (!word || !r->cast)
		return "";
	return (const char *)inv_words_text(&r->cast->words, (uint32_t)word,
					    len);
}

void inv_report_process(const struct inv_report *r, uint32_t process,
			struct inv_buf *out)
{
	const struct inv_row_process *w = process_of(r, process);
	const char *name;
	size_t len;

	if (!w) {
		inv_buf_puts(out, "?");
		return;
	}
	name = inv_report_word(r, w->name, &len);
	if (len)
		inv_buf_put(out, name, len);
	else
		inv_row_process_pid(w, out);
}

void inv_report_mailbox(const struct inv_report *r,
			const struct inv_keyed_row *row, struct inv_buf *out)
{
	const struct inv_row_process process = { .number = row->key[2],
						 .serial = row->key[3] >> 8,
						 .kind = row->key[3] & 0xff };
	size_t len;
	const char *name = inv_report_word(r, row->key[1], &len);

	if (len)
		inv_buf_put(out, name, len);
	else
		inv_row_process_pid(&process, out);
}
