/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text format: one line for each event, in Erlang's syntax.
 *
 *  2026-11-21 10:37:44.000123 a@host <0.88.0> pname call m:f(1,2)
 *  2026-11-21 10:37:44.000135 a@host <0.88.0> pname return m:f/2 -> 3 (12.3 us)
 */
#include "sink/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"
#include "log/utf8.h"
#include "sink/duration.h"
#include "sink/fit.h"
#include "sink/formats.h"
#include "term/simple.h"

/* Prints the name of a node unchanged if it is one word. Other names can come
 * from a damaged log or from another node. They are printed as atoms. */
static void put_node(struct inv_buf *b, const char *name)
{
	static const struct inv_print_opts erlang;

	if (*name != '\'' && !strchr(name, ' '))
		inv_buf_puts(b, name);
	else
		inv_term_print_atom((const uint8_t *)name, strlen(name), b,
				    &erlang);
}

static void node_text(struct inv_buf *b, const struct inv_node *node)
{
	inv_buf_putc(b, ' ');
	put_node(b, node->name);
	inv_buf_putc(b, ' ');
}

/* The facts of an item that did not go through a flow. */
static const struct inv_facts no_facts;

static const struct inv_facts *facts(const struct inv_item *it)
{
	return it->facts ? it->facts : &no_facts;
}

/* --- the tags ------------------------------------------------------------- */

/* Prints the duration of the call that the event ended. A `~' means that events
 * were lost, so the duration is not certain. */
static void took(struct inv_line *t, const struct inv_call *call)
{
	if (!call)
		return;
	inv_line_color(t, INV_LINE_CYAN);
	inv_line_put(t, call->certain ? " (" : " (~");
	inv_duration_put(call->duration_ns, t->sink.out);
	inv_line_put(t, ")");
	inv_line_color(t, INV_LINE_PLAIN);
}

static int text_mfa(struct inv_line *t, const struct inv_item *it)
{
	return inv_line_mfa(t, &it->ev, facts(it)->mfa);
}

static int text_return(struct inv_line *t, const struct inv_item *it)
{
	int rc = text_mfa(t, it);

	if (!rc && it->ev.extra) {
		inv_line_put(t, " -> ");
		rc = inv_line_term(t);
	}
	took(t, facts(it)->call);
	return rc;
}

static int text_exception(struct inv_line *t, const struct inv_item *it)
{
	int rc = text_mfa(t, it);

	if (!rc && it->ev.extra) {
		inv_line_put(t, " ");
		rc = inv_line_term(t);
	}
	took(t, facts(it)->call);
	return rc;
}

/* Prints a process or port of another node in the form that its own node uses,
 * after the name of that node. For any other term, prints nothing and returns
 * false. */
static bool elsewhere(struct inv_line *t, const struct inv_item *it,
		      const struct inv_token *tok,
		      const struct inv_identity *id)
{
	struct inv_token own = *tok;
	char *node;

	if (!id->node_len || (strlen(it->node->name) == id->node_len &&
			      !memcmp(it->node->name, id->node, id->node_len)))
		return false;
	/* The name is from another node, and may have any characters. */
	node = inv_utf8_sanitized(id->node, id->node_len);
	if (node)
		put_node(t->sink.out, node);
	else
		t->sink.out->error = INV_ENOMEM;
	free(node);
	inv_buf_putc(t->sink.out, ' ');
	own.node = 0;
	inv_term_print_token(t->sink.cursor, &own, t->sink.out, &t->sink.print);
	return true;
}

/* Prints the process or name to which a message is sent. */
static int receiver(struct inv_line *t, const struct inv_item *it)
{
	struct inv_flow *flow = facts(it)->flow;
	struct inv_identity id;
	struct inv_token tok;
	int rc = inv_line_must(inv_cursor_next(t->sink.cursor, &tok));

	if (rc)
		return rc;
	if (!flow || !inv_flow_identify(flow, it->node, it->ev.dict, &tok, &id))
		return inv_line_must(inv_term_print_token(
			t->sink.cursor, &tok, t->sink.out, &t->sink.print));
	if (!elsewhere(t, it, &tok, &id))
		rc = inv_line_must(inv_term_print_token(
			t->sink.cursor, &tok, t->sink.out, &t->sink.print));
	if (!rc && id.name.len) {
		inv_buf_putc(t->sink.out, ' ');
		inv_line_name(t, &id.name);
	}
	return rc;
}

static int text_send(struct inv_line *t, const struct inv_item *it)
{
	int rc = inv_line_term(t);

	if (!rc && it->ev.extra) {
		inv_line_put(t, " to ");
		rc = receiver(t, it);
	}
	if (it->ev.tag == INV_TAG_SEND_NO_PROC)
		inv_line_put(t, " (no such process)");
	return rc;
}

static int text_spawn(struct inv_line *t, const struct inv_item *it)
{
	int rc = inv_line_term(t);

	if (rc || !it->ev.extra)
		return rc;
	inv_line_put(t, it->ev.tag == INV_TAG_SPAWN ? " as " : " to run ");
	return text_mfa(t, it);
}

static int text_plain(struct inv_line *t, const struct inv_item *it)
{
	int rc = inv_line_term(t);

	if (!rc && it->ev.extra) {
		inv_line_put(t, " ");
		rc = inv_line_term(t);
	}
	return rc;
}

/* Prints send, 'receive' or print. */
static void kind(struct inv_line *t, const struct inv_token *tok)
{
	if (t->sink.print.syntax == INV_SYNTAX_ERLANG &&
	    inv_token_is(tok, "receive"))
		inv_line_put(t, "'receive'");
	else
		inv_line_atom(t, tok);
}

/* Prints {send | 'receive' | print, Serial, From, To, Message}. */
static int text_seq(struct inv_line *t, const struct inv_item *it)
{
	struct inv_cursor *c = t->sink.cursor;
	size_t off = (size_t)(c->p - it->ev.terms);
	size_t len = t->sink.out->len;
	static const char *const seps[] = { " ", " ", " to ", " " };
	struct inv_token tok;
	int rc = 0;

	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_TUPLE ||
	    tok.count != 5 || inv_cursor_next(c, &tok) ||
	    tok.kind != INV_TOK_ATOM) {
		t->sink.out->len = len;
		inv_cursor_init(c, (enum inv_enc)it->ev.enc, it->ev.dict,
				it->ev.terms + off, it->ev.len - off);
		return inv_line_term(t);
	}
	kind(t, &tok);
	for (int i = 0; !rc && i < 4; i++) {
		inv_line_put(t, seps[i]);
		rc = inv_line_term(t);
	}
	return rc;
}

/*
 * For each tag, the word that is printed, and the function that prints its
 * terms. A tag without an entry is printed with its terms unchanged.
 */
#define WORD(text) text, sizeof(text) - 1
static const struct {
	const char *word;
	size_t len;
	int (*write)(struct inv_line *t, const struct inv_item *it);
	const char *color;
} tags[INV_TAG_COUNT] = {
	[INV_TAG_SEND] = { WORD("send "), text_send, NULL },
	[INV_TAG_SEND_NO_PROC] = { WORD("send "), text_send, NULL },
	[INV_TAG_CALL] = { WORD("call "), text_mfa, INV_LINE_GREEN },
	[INV_TAG_RETURN_TO] = { WORD("return_to "), text_mfa, NULL },
	[INV_TAG_RETURN_FROM] = { WORD("return "), text_return, INV_LINE_CYAN },
	[INV_TAG_EXCEPTION_FROM] = { WORD("exception "), text_exception,
				     INV_LINE_RED },
	[INV_TAG_SPAWN] = { WORD("spawn "), text_spawn, NULL },
	[INV_TAG_SPAWNED] = { WORD("spawned by "), text_spawn, NULL },
	[INV_TAG_EXIT] = { WORD("exit "), text_plain, NULL },
	[INV_TAG_REGISTER] = { WORD("register "), text_plain, NULL },
	[INV_TAG_UNREGISTER] = { WORD("unregister "), text_plain, NULL },
	[INV_TAG_IN] = { WORD("in "), text_mfa, NULL },
	[INV_TAG_OUT] = { WORD("out "), text_mfa, NULL },
	[INV_TAG_IN_EXITING] = { WORD("in_exiting "), text_mfa, NULL },
	[INV_TAG_OUT_EXITING] = { WORD("out_exiting "), text_mfa, NULL },
	[INV_TAG_OUT_EXITED] = { WORD("out_exited "), text_mfa, NULL },
	[INV_TAG_SEQ_TRACE] = { WORD(""), text_seq, NULL },
};
#undef WORD

/* Calls are indented at most this many levels. */
#define INDENT_MAX 32u

static void indent(struct inv_line *t, const struct inv_item *it)
{
	unsigned tag = it->ev.tag;
	uint32_t n = facts(it)->depth;

	if (tag != INV_TAG_CALL && tag != INV_TAG_RETURN_FROM &&
	    tag != INV_TAG_EXCEPTION_FROM)
		return;
	for (n = n < INDENT_MAX ? n : INDENT_MAX; n > 0; n--)
		inv_line_put(t, "  ");
}

/* Prints the word of a tag, in its colour. */
static void word_of(struct inv_line *t, unsigned tag)
{
	if (tags[tag].color)
		inv_line_color(t, tags[tag].color);
	inv_buf_put(t->sink.out, tags[tag].word, tags[tag].len);
	if (tags[tag].color)
		inv_line_color(t, INV_LINE_PLAIN);
}

static int body(struct inv_line *t, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;
	const char *word;
	size_t len;

	if (t->sink.opts.indent)
		indent(t, it);
	if (facts(it)->gc) {
		inv_line_gc(t, facts(it)->gc);
		return 0;
	}
	if (ev->tag < INV_TAG_COUNT && tags[ev->tag].write) {
		word_of(t, ev->tag);
		return tags[ev->tag].write(t, it);
	}
	word = inv_event_tag(ev, &len);
	if (ev->tag == INV_TAG_OTHER)
		inv_term_print_atom((const uint8_t *)word, len, t->sink.out,
				    &t->sink.print);
	else
		inv_buf_put(t->sink.out, word, len);
	inv_line_put(t, " ");
	return ev->tag == INV_TAG_OTHER && !ev->extra ? inv_line_system(t, ev) :
							text_plain(t, it);
}

/* Prints the names of the process, "name1,name2 ". If there is no ti file,
 * prints the name that earlier events showed. */
static void names(struct inv_line *t, const struct inv_item *it,
		  const struct inv_token *tok)
{
	const struct inv_process_name *name = &facts(it)->name;
	struct inv_buf *out = t->sink.out;

	if (it->node->names) {
		if (inv_sink_names(&t->sink, it, tok, ","))
			inv_buf_putc(out, ' ');
	} else if (name->len) {
		inv_line_name(t, name);
		inv_buf_putc(out, ' ');
	}
}

/* Prints "seq_trace 17 ", if the label is a simple term. Otherwise prints
 * nothing, and returns false. */
static bool simple_label(struct inv_line *t, const struct inv_event *ev)
{
	size_t before = t->sink.out->len;

	inv_cursor_init(t->sink.cursor, (enum inv_enc)ev->enc, ev->dict,
			ev->terms, ev->len);
	inv_line_color(t, INV_LINE_YELLOW);
	inv_line_put(t, "seq_trace ");
	if (!inv_simple_print(t->sink.cursor, t->sink.out, &t->sink.print)) {
		t->sink.out->len = before;
		return false;
	}
	inv_buf_putc(t->sink.out, ' ');
	inv_line_color(t, INV_LINE_PLAIN);
	return true;
}

/* Prints "<0.88.0> name1,name2 ", or "seq_trace 17 ". */
static int tracee(struct inv_line *t, const struct inv_item *it)
{
	struct inv_sink *s = &t->sink;
	struct inv_token tok;
	int rc;

	if (it->ev.tag == INV_TAG_SEQ_TRACE && simple_label(t, &it->ev))
		return 0;
	rc = inv_event_tracee(&it->ev, s->cursor, &tok);
	if (rc)
		return rc;
	inv_line_color(t, INV_LINE_YELLOW);
	if (it->ev.tag == INV_TAG_SEQ_TRACE)
		inv_line_put(t, "seq_trace ");
	rc = inv_term_print_token(s->cursor, &tok, s->out, &t->sink.print);
	if (rc)
		return inv_line_must(rc);
	inv_buf_putc(s->out, ' ');
	if (it->ev.tag != INV_TAG_SEQ_TRACE)
		names(t, it, &tok);
	inv_line_color(t, INV_LINE_PLAIN);
	return inv_event_payload(&it->ev, s->cursor);
}

static int bare(struct inv_line *t, const struct inv_event *ev)
{
	inv_cursor_init(t->sink.cursor, INV_ENC_ETF, NULL, ev->raw,
			ev->raw_len);
	return inv_line_term(t);
}

/* The text after the node's name is aligned: the name is padded to the width of
 * the widest name so far. Names wider than NODE_COLUMNS_MAX do not count, and
 * are not padded. */
#define NODE_COLUMNS_MAX 40u

static void align_node(struct inv_line *t, size_t from)
{
	struct inv_buf *out = t->sink.out;
	unsigned n;

	if (out->error)
		return;
	n = inv_fit_columns(out->data + from, out->len - from);
	if (n > t->node_columns && n <= NODE_COLUMNS_MAX)
		t->node_columns = n;
	for (; n < t->node_columns; n++)
		inv_buf_putc(out, ' ');
}

/* On terminals with fewer columns than this, times are printed without the
 * date. */
#define BRIEF_BELOW 120

/* Prints "    +0.000123". */
static void put_relative(struct inv_line *t, int64_t ts_ns)
{
	char text[32];
	int64_t ns;
	uint64_t us;

	if (!t->begun)
		t->since = ts_ns;
	ns = (int64_t)((uint64_t)ts_ns - (uint64_t)t->since);
	us = (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / 1000;
	snprintf(text, sizeof(text), "%c%" PRIu64 ".%06" PRIu64,
		 ns < 0 ? '-' : '+', us / 1000000, us % 1000000);
	inv_buf_printf(t->sink.out, "%13s", text);
	if (!t->begun || t->sink.opts.time == INV_SINK_DELTA)
		t->since = ts_ns;
	t->begun = true;
}

static void put_time(struct inv_line *t, int64_t ts_ns)
{
	if (t->sink.opts.time == INV_SINK_ABSOLUTE)
		inv_timefmt_put(&t->time, ts_ns, t->sink.out);
	else
		put_relative(t, ts_ns);
}

/* Prints time and node. */
static void head(struct inv_line *t, const struct inv_item *it)
{
	struct inv_sink *s = &t->sink;
	size_t from;

	t->time.brief = s->opts.width && s->opts.width < BRIEF_BELOW;
	if (!s->opts.color && !s->opts.width) {
		put_time(t, it->ts_ns);
		inv_sink_node_text(s, it->node, node_text);
		return;
	}
	inv_line_color(t, INV_LINE_DIM);
	put_time(t, it->ts_ns);
	inv_line_color(t, INV_LINE_PLAIN);
	if (t->time.brief && s->opts.one_node) {
		inv_buf_putc(s->out, ' ');
		return;
	}
	from = s->out->len;
	inv_line_color(t, INV_LINE_MAGENTA);
	inv_sink_node_text(s, it->node, node_text);
	if (s->opts.width)
		align_node(t, from);
	inv_line_color(t, INV_LINE_PLAIN);
}

/* If the output has no width, lines wider than this are laid out on several
 * lines. */
#define PRETTY_WIDTH 80u

static unsigned pretty_width(const struct inv_sink *s)
{
	return s->opts.width ? s->opts.width : PRETTY_WIDTH;
}

/* Ends the entry that begins at `from'. */
static void tail(struct inv_line *t, size_t from)
{
	struct inv_sink *s = &t->sink;

	inv_buf_putc(s->out, '\n');
	if (s->opts.pretty) {
		if (inv_fit_pretty(s->out, from, pretty_width(s)))
			s->out->error = INV_ENOMEM;
		inv_fit_wrap(s->out, from, pretty_width(s), &t->spare);
	} else if (s->opts.width && s->opts.wrap) {
		inv_fit_wrap(s->out, from, s->opts.width, &t->spare);
	} else if (s->opts.width) {
		s->cut += inv_fit_lines(s->out, from, s->opts.width,
					s->opts.color ? INV_LINE_PLAIN : "",
					&t->spare);
	}
}

/* Prints how the call ended: what it returned, its exception, or the reason why
 * the process exited. */
static int call_end(struct inv_line *t, const struct inv_item *it)
{
	struct inv_cursor *c = t->sink.cursor;
	bool exited = it->ev.tag == INV_TAG_EXIT;
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, c, &tok);

	if (!rc)
		rc = inv_event_payload(&it->ev, c);
	if (!rc && !exited)
		rc = inv_line_must(inv_cursor_skip(c));
	if (rc || (!exited && !it->ev.extra))
		return rc;
	if (it->ev.tag == INV_TAG_RETURN_FROM) {
		inv_line_put(t, " -> ");
	} else {
		inv_line_color(t, INV_LINE_RED);
		inv_line_put(t, exited ? " exit " : " exception ");
		inv_line_color(t, INV_LINE_PLAIN);
	}
	return inv_line_term(t);
}

/* Prints the value that the match spec added to the call. The value is printed
 * last, because a stack trace has lines of its own. */
static int call_result(struct inv_line *t, const struct inv_call *call)
{
	int rc;

	if (!call->event->ms_result)
		return 0;
	inv_mfa_third(call->mfa, t->sink.cursor, call->event);
	rc = inv_line_must(inv_cursor_skip(t->sink.cursor));
	return rc ? rc : inv_line_result(t, call->event);
}

/* Prints a call as one entry, with the time at which it began, its arguments,
 * and how it ended. `it' is the event that ended the call. */
static int whole_call(struct inv_line *t, const struct inv_item *it)
{
	const struct inv_call *call = facts(it)->call;
	const struct inv_facts begin_facts = { .mfa = call->mfa,
					       .name = facts(it)->name,
					       .depth = call->depth };
	struct inv_item begin = *it;
	int rc;

	begin.ts_ns = call->begin_ts_ns;
	begin.ev = *call->event;
	begin.facts = &begin_facts;
	head(t, &begin);
	rc = tracee(t, &begin);
	if (!rc)
		rc = body(t, &begin);
	if (!rc)
		rc = call_end(t, it);
	took(t, call);
	return rc ? rc : call_result(t, call);
}

static int one_event(struct inv_line *t, const struct inv_item *it)
{
	int rc;

	head(t, it);
	if (it->ev.bare)
		return bare(t, &it->ev);
	rc = tracee(t, it);
	if (!rc)
		rc = body(t, it);
	if (!rc && it->ev.ms_result)
		rc = inv_line_result(t, &it->ev);
	return rc;
}

/* A long event is printed again with at most this many levels of nested terms;
 * if it is still too long, with fewer levels. */
#define DEPTH_FIRST 3u

static int print_event(struct inv_line *t, const struct inv_item *it)
{
	size_t from = t->sink.out->len;
	int rc = facts(it)->whole ? whole_call(t, it) : one_event(t, it);

	tail(t, from);
	return rc;
}

/* If the event has too many lines, prints it again without deeply nested
 * terms. If it still has too many, leaves out lines in the middle. */
static int shorten(struct inv_line *t, const struct inv_item *it, size_t from,
		   int64_t since)
{
	struct inv_sink *s = &t->sink;
	uint32_t depth = s->print.depth;
	int rc = 0;

	for (uint32_t n = DEPTH_FIRST; n > 0 && !rc; n--) {
		if (inv_fit_count(s->out, from) <= s->opts.lines)
			break;
		s->out->len = from;
		s->print.depth = n;
		t->since = since;
		rc = print_event(t, it);
	}
	s->print.depth = depth;
	s->cut++;
	inv_fit_first(s->out, from, s->opts.lines);
	return rc;
}

static int text_event(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_line *t = (struct inv_line *)s;
	size_t from = s->out->len;
	int64_t since = t->begun ? t->since : it->ts_ns;
	int rc;

	inv_sink_manner(s, it);
	rc = print_event(t, it);
	if (s->opts.lines && !rc && inv_fit_count(s->out, from) > s->opts.lines)
		rc = shorten(t, it, from, since);
	if (inv_gc_is_start(it->ev.tag) && it->facts && !rc)
		inv_line_hold(t, it, from);
	return rc;
}

static void text_before(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_line *t = (struct inv_line *)s;

	if (!t->n_held)
		return;
	if (it)
		inv_line_before(t, it);
	else
		inv_line_give_held(t);
}

static void text_loss(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_line *t = (struct inv_line *)s;
	size_t from = s->out->len;

	head(t, it);
	inv_line_color(t, INV_LINE_ALARM);
	inv_line_put(t, "*** ");
	inv_buf_u64(s->out, it->lost.n);
	inv_line_put(t, it->lost.n == 1 ? " event " : " events ");
	if (it->lost.reason == INV_LOSS_LIMIT) {
		inv_line_put(t, "came after the limit");
	} else {
		inv_line_put(t, "lost: ");
		inv_line_put(t, inv_lost_text(it->lost.reason));
	}
	inv_line_color(t, INV_LINE_PLAIN);
	tail(t, from);
}

static void text_end(struct inv_sink *s)
{
	inv_buf_puts(s->out, "-- ");
	inv_summary_text(&s->sum, s->out);
	inv_buf_putc(s->out, '\n');
}

static int text_init(struct inv_sink *s)
{
	struct inv_line *t = (struct inv_line *)s;

	t->time.utc = s->opts.utc;
	inv_sink_for_people(s);
	return 0;
}

static void text_release(struct inv_sink *s)
{
	struct inv_line *t = (struct inv_line *)s;

	for (unsigned i = 0; i < t->n_held; i++)
		inv_buf_release(&t->held[i].line);
	inv_buf_release(&t->spare);
}

const struct inv_sink_ops inv_sink_text = {
	.name = "text",
	.help = "for people: one line for each event, in Erlang's syntax",
	.size = sizeof(struct inv_line),
	.init = text_init,
	.event = text_event,
	.before = text_before,
	.loss = text_loss,
	.end = text_end,
	.release = text_release,
};
