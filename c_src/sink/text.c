/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For people: one line an event, in Erlang's syntax.
 *
 *	2026-11-21 10:37:44.000123 node1@host <0.88.0> pname call m:f(1,2)
 *	2026-11-21 10:37:44.000135 node1@host <0.88.0> pname return m:f/2 -> 3 (12.3 us)
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sink/formats.h"
#include "sink/pairs.h"
#include "sink/timefmt.h"
#include "term/print.h"

struct text {
	struct inv_sink sink;
	struct inv_timefmt time;
	struct inv_pairs pairs;
	uint64_t pid; /* hash of the event's process */
	uint64_t mfa; /* hash of the {M,F,A} printed last, 0: it was none */
};

static void node_text(struct inv_buf *b, const struct inv_node *node)
{
	inv_buf_putc(b, ' ');
	inv_buf_puts(b, node->name);
	inv_buf_putc(b, ' ');
}

static void put(struct text *t, const char *s)
{
	inv_buf_puts(t->sink.out, s);
}

static int must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* The next term of the event. */
static int term(struct text *t)
{
	return must(
		inv_term_print(t->sink.cursor, t->sink.out, &t->sink.print));
}

/* A dictionary knows once a packet what needs no quotes. */
static void atom(struct text *t, const struct inv_token *tok)
{
	if (tok->plain)
		inv_buf_put(t->sink.out, tok->bytes, tok->len);
	else
		inv_term_print_atom(tok->bytes, tok->len, t->sink.out,
				    &t->sink.print);
}

static uint64_t hash_pid(const struct inv_item *it, const struct inv_token *tok)
{
	uint64_t h = it->node->number;

	if (tok->kind == INV_TOK_PID || tok->kind == INV_TOK_PORT)
		h = h * 31 + tok->id[0] * 0x9e3779b97f4a7c15u + tok->kind;
	if (tok->kind == INV_TOK_PID)
		h = h * 31 + tok->id[1];
	return h ^ h >> 32;
}

/* --- {M,F,Args} and {M,F,Arity} ------------------------------------------- */

static int arguments(struct text *t, uint32_t *arity)
{
	struct inv_cursor *c = t->sink.cursor;
	struct inv_buf *out = t->sink.out;
	struct inv_token tok;
	int rc;

	*arity = 0;
	inv_buf_putc(out, '(');
	for (;;) {
		rc = must(inv_cursor_next(c, &tok));
		if (rc)
			return rc;
		if (tok.kind == INV_TOK_END)
			break;
		if (tok.sep == INV_SEP_BAR)
			inv_buf_putc(out, '|');
		else if (tok.sep == INV_SEP_COMMA)
			inv_buf_putc(out, ',');
		rc = inv_term_print_token(c, &tok, out, &t->sink.print);
		if (rc)
			return must(rc);
		*arity += tok.kind == INV_TOK_CUT && tok.cut == INV_CUT_LIST ?
				  (uint32_t)tok.left :
				  1;
	}
	inv_buf_putc(out, ')');
	return 0;
}

/* Arguments that are all small integers lie as a string. */
static void small_arguments(struct text *t, const struct inv_token *tok)
{
	struct inv_buf *out = t->sink.out;

	inv_buf_putc(out, '(');
	for (size_t i = 0; i < tok->len; i++) {
		if (i)
			inv_buf_putc(out, ',');
		inv_buf_u64(out, tok->bytes[i]);
	}
	if (tok->cut) {
		inv_buf_puts(out, tok->len ? ",...(" : "...(");
		inv_buf_u64(out, tok->left);
		inv_buf_puts(out, " more)");
	}
	inv_buf_putc(out, ')');
}

/* The third element; false: not what stands there in an {M,F,A}. */
static int arity_or_arguments(struct text *t, uint64_t *arity, bool *is_mfa)
{
	struct inv_token tok;
	int64_t i;
	uint32_t n = 0;
	int rc = must(inv_cursor_next(t->sink.cursor, &tok));

	if (rc)
		return rc;
	if (inv_token_i64(&tok, &i)) {
		put(t, "/");
		inv_buf_i64(t->sink.out, i);
		*arity = (uint64_t)i;
	} else if (tok.kind == INV_TOK_NIL) {
		put(t, "()");
		*arity = 0;
	} else if (tok.kind == INV_TOK_STRING) {
		small_arguments(t, &tok);
		*arity = tok.len + (tok.cut ? tok.left : 0);
	} else if (tok.kind == INV_TOK_LIST) {
		rc = arguments(t, &n);
		*arity = n;
	} else {
		*is_mfa = false;
	}
	return rc;
}

static uint64_t hash_atom(uint64_t seed, const struct inv_token *tok)
{
	return XXH3_64bits_withSeed(tok->bytes, tok->len, seed);
}

/*
 * Tries the next term as {M,F,A}.  *is_mfa says whether it was one; if not,
 * the cursor is somewhere within it.
 */
static int try_mfa(struct text *t, bool *is_mfa)
{
	struct inv_cursor *c = t->sink.cursor;
	struct inv_buf *out = t->sink.out;
	struct inv_token tok;
	uint64_t hash = 0;
	uint64_t arity = 0;
	int rc = must(inv_cursor_next(c, &tok));

	*is_mfa = !rc && tok.kind == INV_TOK_TUPLE && tok.count == 3;
	for (int i = 0; *is_mfa && i < 2; i++) {
		rc = must(inv_cursor_next(c, &tok));
		*is_mfa = !rc && tok.kind == INV_TOK_ATOM;
		if (!*is_mfa)
			break;
		if (i)
			inv_buf_putc(out, ':');
		atom(t, &tok);
		hash = hash_atom(hash, &tok);
	}
	if (rc || !*is_mfa)
		return rc;
	rc = arity_or_arguments(t, &arity, is_mfa);
	if (!rc && *is_mfa)
		rc = inv_cursor_end(c);
	t->mfa = hash * 31 + arity;
	return rc;
}

/* The next term as m:f(…) or m:f/n, or as it is. */
static int mfa(struct text *t, const struct inv_event *ev)
{
	struct inv_cursor *c = t->sink.cursor;
	size_t off = (size_t)(c->p - ev->terms);
	size_t len = t->sink.out->len;
	bool is_mfa = false;
	int rc = try_mfa(t, &is_mfa);

	if (rc || is_mfa)
		return rc;
	t->mfa = 0;
	t->sink.out->len = len;
	inv_cursor_init(c, (enum inv_enc)ev->enc, ev->dict, ev->terms + off,
			ev->len - off);
	return term(t);
}

/* --- the tags ------------------------------------------------------------- */

static void took(struct text *t, const struct inv_item *it)
{
	struct inv_buf *out = t->sink.out;
	int64_t ns;

	if (!t->mfa ||
	    !inv_pairs_return(&t->pairs, t->pid, t->mfa, it->ts_ns, &ns))
		return;
	/* Microseconds with a decimal, without printf. */
	ns = (ns + 50) / 100;
	put(t, " (");
	inv_buf_i64(out, ns / 10);
	inv_buf_putc(out, '.');
	inv_buf_putc(out, (char)('0' + (ns < 0 ? -ns : ns) % 10));
	put(t, " us)");
}

static int text_call(struct text *t, const struct inv_item *it)
{
	int rc = mfa(t, &it->ev);

	if (t->mfa)
		inv_pairs_call(&t->pairs, t->pid, t->mfa, it->ts_ns);
	return rc;
}

static int text_return(struct text *t, const struct inv_item *it)
{
	int rc = mfa(t, &it->ev);

	if (!rc && it->ev.extra) {
		put(t, " -> ");
		rc = term(t);
	}
	took(t, it);
	return rc;
}

static int text_exception(struct text *t, const struct inv_item *it)
{
	int rc = mfa(t, &it->ev);

	if (!rc && it->ev.extra) {
		put(t, " ");
		rc = term(t);
	}
	took(t, it);
	return rc;
}

static int text_send(struct text *t, const struct inv_item *it)
{
	int rc = term(t);

	if (!rc && it->ev.extra) {
		put(t, " to ");
		rc = term(t);
	}
	if (it->ev.tag == INV_TAG_SEND_NO_PROC)
		put(t, " (no such process)");
	return rc;
}

static int text_spawn(struct text *t, const struct inv_item *it)
{
	int rc = term(t);

	if (!rc && it->ev.extra) {
		put(t, it->ev.tag == INV_TAG_SPAWN ? " as " : " to run ");
		rc = mfa(t, &it->ev);
	}
	return rc;
}

static int text_plain(struct text *t, const struct inv_item *it)
{
	int rc = term(t);

	if (!rc && it->ev.extra) {
		put(t, " ");
		rc = term(t);
	}
	return rc;
}

static int text_mfa(struct text *t, const struct inv_item *it)
{
	return mfa(t, &it->ev);
}

/* {send | 'receive' | print, Serial, From, To, Message} */
static int text_seq(struct text *t, const struct inv_item *it)
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
		return term(t);
	}
	atom(t, &tok);
	for (int i = 0; !rc && i < 4; i++) {
		put(t, seps[i]);
		rc = term(t);
	}
	return rc;
}

/* What stands for the tag, and who writes what follows; without an entry the
 * tag is as it is, and the terms too. */
static const struct {
	const char *word;
	int (*write)(struct text *t, const struct inv_item *it);
} tags[INV_TAG_COUNT] = {
	[INV_TAG_SEND] = { "send ", text_send },
	[INV_TAG_SEND_NO_PROC] = { "send ", text_send },
	[INV_TAG_CALL] = { "call ", text_call },
	[INV_TAG_RETURN_TO] = { "return_to ", text_mfa },
	[INV_TAG_RETURN_FROM] = { "return ", text_return },
	[INV_TAG_EXCEPTION_FROM] = { "exception ", text_exception },
	[INV_TAG_SPAWN] = { "spawn ", text_spawn },
	[INV_TAG_SPAWNED] = { "spawned by ", text_spawn },
	[INV_TAG_IN] = { "in ", text_mfa },
	[INV_TAG_OUT] = { "out ", text_mfa },
	[INV_TAG_IN_EXITING] = { "in_exiting ", text_mfa },
	[INV_TAG_OUT_EXITING] = { "out_exiting ", text_mfa },
	[INV_TAG_OUT_EXITED] = { "out_exited ", text_mfa },
	[INV_TAG_SEQ_TRACE] = { "", text_seq },
};

static int body(struct text *t, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;
	const char *word;
	size_t len;

	if (ev->tag < INV_TAG_COUNT && tags[ev->tag].write) {
		put(t, tags[ev->tag].word);
		return tags[ev->tag].write(t, it);
	}
	word = inv_event_tag(ev, &len);
	if (ev->tag == INV_TAG_OTHER)
		inv_term_print_atom((const uint8_t *)word, len, t->sink.out,
				    &t->sink.print);
	else
		inv_buf_put(t->sink.out, word, len);
	put(t, " ");
	return text_plain(t, it);
}

/* "<0.88.0> name1,name2 ", or "seq_trace 17 " */
static int tracee(struct text *t, const struct inv_item *it)
{
	struct inv_sink *s = &t->sink;
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, s->cursor, &tok);

	if (rc)
		return rc;
	t->pid = hash_pid(it, &tok);
	if (it->ev.tag == INV_TAG_SEQ_TRACE)
		put(t, "seq_trace ");
	rc = inv_term_print_token(s->cursor, &tok, s->out, &t->sink.print);
	if (rc)
		return must(rc);
	inv_buf_putc(s->out, ' ');
	if (it->node->names && it->ev.tag != INV_TAG_SEQ_TRACE &&
	    inv_sink_names(s, it, &tok, ","))
		inv_buf_putc(s->out, ' ');
	return inv_event_payload(&it->ev, s->cursor);
}

static int bare(struct text *t, const struct inv_event *ev)
{
	inv_cursor_init(t->sink.cursor, INV_ENC_ETF, NULL, ev->raw,
			ev->raw_len);
	return term(t);
}

static int text_event(struct inv_sink *s, const struct inv_item *it)
{
	struct text *t = (struct text *)s;
	int rc;

	t->mfa = 0;
	s->print.otp = it->node->otp_release;
	inv_timefmt_put(&t->time, it->ts_ns, s->out);
	inv_sink_node_text(s, it->node, node_text);
	if (it->ev.bare) {
		rc = bare(t, &it->ev);
	} else {
		rc = tracee(t, it);
		if (!rc)
			rc = body(t, it);
		if (!rc && it->ev.ms_result) {
			put(t, " (");
			rc = term(t);
			put(t, ")");
		}
	}
	inv_buf_putc(s->out, '\n');
	return rc;
}

static void text_loss(struct inv_sink *s, const struct inv_item *it)
{
	struct text *t = (struct text *)s;

	inv_timefmt_put(&t->time, it->ts_ns, s->out);
	inv_sink_node_text(s, it->node, node_text);
	put(t, "*** ");
	inv_buf_u64(s->out, it->lost.n);
	put(t, it->lost.n == 1 ? " event lost: " : " events lost: ");
	put(t, inv_lost_text(it->lost.reason));
	inv_buf_putc(s->out, '\n');
}

static void text_end(struct inv_sink *s)
{
	inv_buf_puts(s->out, "-- ");
	inv_summary_text(&s->sum, s->out);
	inv_buf_putc(s->out, '\n');
}

static int text_init(struct inv_sink *s)
{
	struct text *t = (struct text *)s;

	t->time.utc = s->opts.utc;
	s->print.style = INV_PRINT_P;
	s->print.unicode = true;
	return inv_pairs_init(&t->pairs);
}

static void text_release(struct inv_sink *s)
{
	inv_pairs_release(&((struct text *)s)->pairs);
}

const struct inv_sink_ops inv_sink_text = {
	.name = "text",
	.help = "for people: one line an event, in Erlang's syntax",
	.size = sizeof(struct text),
	.init = text_init,
	.event = text_event,
	.loss = text_loss,
	.end = text_end,
	.release = text_release,
};
