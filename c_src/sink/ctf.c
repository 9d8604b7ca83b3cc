/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Common Trace Format 1.8, for babeltrace2 and Trace Compass: a directory
 * with the metadata, and with a stream for each node. For each tag of events
 * there is a class of events. Terms are printed like ~w, as in JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "flow/flow.h"
#include "log/names.h"
#include "sink/ctf_stream.h"
#include "sink/formats.h"

struct ctf {
	struct inv_sink sink;
	char *dir;
	uint8_t uuid[16];
	struct inv_ctf_stream **streams; /* streams[i]: the stream of the node
					    with the number i; NULL: no event
					    yet */
	uint32_t n_streams;
	struct inv_buf text;
};

static struct ctf *of(struct inv_sink *s)
{
	return (struct ctf *)s;
}

static int must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* --- the stream of a node ------------------------------------------------- */

static struct inv_ctf_stream *add(struct ctf *x, const struct inv_node *node)
{
	struct inv_ctf_stream *st, **v;

	if (node->number >= x->n_streams) {
		uint32_t n = node->number + 1;

		v = realloc(x->streams, n * sizeof(struct inv_ctf_stream *));
		if (!v)
			return NULL;
		while (x->n_streams < n)
			v[x->n_streams++] = NULL;
		x->streams = v;
	}
	st = calloc(1, sizeof(*st));
	if (!st)
		return NULL;
	x->streams[node->number] = st;
	return inv_ctf_stream_init(st, x->dir, node, x->uuid) ? NULL : st;
}

/* Returns the stream of the node. If there is no memory, returns NULL and sets
 * the sink's err. */
static struct inv_ctf_stream *stream_of(struct ctf *x,
					const struct inv_node *node)
{
	struct inv_ctf_stream *st = NULL;

	if (x->sink.err.code)
		return NULL;
	if (node->number < x->n_streams)
		st = x->streams[node->number];
	if (!st)
		st = add(x, node);
	if (!st)
		inv_err_set(&x->sink.err, INV_ENOMEM, "no memory");
	return st;
}

/* --- fields --------------------------------------------------------------- */

static void flush_text(struct ctf *x, struct inv_buf *out, size_t most)
{
	inv_ctf_text(out, x->text.data, x->text.len, most);
	if (x->text.error && !out->error)
		out->error = x->text.error;
	inv_buf_reset(&x->text);
}

static void put_i64(struct inv_buf *out, int64_t v)
{
	inv_buf_put(out, &v, sizeof(v));
}

/* Prints the cursor's next term into x->text. */
static int print(struct ctf *x)
{
	return must(inv_term_print(x->sink.cursor, &x->text, &x->sink.print));
}

/* Returns the process's name as earlier events showed it. */
static struct inv_process_name shown_name(const struct inv_item *it,
					  const struct inv_token *tok)
{
	struct inv_identity id;

	if (!it->facts)
		return (struct inv_process_name){ 0 };
	/* facts->name is the name of the tracee. A seq_trace event has no
	 * tracee. */
	if (it->ev.tag != INV_TAG_SEQ_TRACE)
		return it->facts->name;
	if (inv_flow_identify(it->facts->flow, it->node, it->ev.dict, tok, &id))
		return id.name;
	return (struct inv_process_name){ 0 };
}

/* Writes the name of the process from a ti file. If there is none, writes the
 * process's name as earlier events showed it. */
static void put_name(struct inv_buf *out, const struct inv_item *it,
		     const struct inv_token *tok)
{
	const struct inv_process_name shown = shown_name(it, tok);
	const struct inv_name *n = NULL;

	if (it->node->names && tok->kind == INV_TOK_PID && !tok->node)
		n = inv_names_find(it->node->names, tok->id[0], tok->id[1]);
	while (n && !inv_name_holds(n, it->ts_ns))
		n = n->next;
	if (n)
		inv_ctf_text(out, n->text, n->len, INV_CTF_NAME);
	else
		inv_ctf_text(out, shown.text, shown.len, INV_CTF_NAME);
}

static int put_process(struct ctf *x, struct inv_buf *out,
		       const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_sink_process(&x->sink, it, &tok);

	if (rc == INV_END) {
		/* no pid, no name */
		inv_ctf_text(out, NULL, 0, INV_CTF_NAME);
		inv_ctf_text(out, NULL, 0, INV_CTF_NAME);
		return 0;
	}
	if (!rc)
		rc = must(inv_term_print_token(x->sink.cursor, &tok, &x->text,
					       &x->sink.print));
	flush_text(x, out, INV_CTF_NAME);
	put_name(out, it, &tok);
	return rc;
}

/* Writes the label of the request. If the request has no label, writes the
 * token's label. In a seq_trace event this label is the term that is the tracee
 * in other events. */
static int put_label(struct ctf *x, struct inv_buf *out,
		     const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, x->sink.cursor, &tok);

	if (!rc && it->facts && it->facts->label)
		inv_buf_puts(&x->text, it->facts->label);
	else if (!rc)
		rc = must(inv_term_print_token(x->sink.cursor, &tok, &x->text,
					       &x->sink.print));
	flush_text(x, out, INV_CTF_NAME);
	return rc;
}

static void put_function(struct inv_buf *out, const struct inv_item *it)
{
	const struct inv_facts *f = it->facts;
	const struct inv_mfa *m = f ? f->mfa : NULL;

	if (!m && f && f->call)
		m = f->call->mfa;
	inv_ctf_text(out, m ? m->module.bytes : NULL, m ? m->module.len : 0,
		     INV_CTF_NAME);
	inv_ctf_text(out, m ? m->function.bytes : NULL, m ? m->function.len : 0,
		     INV_CTF_NAME);
	put_i64(out, m ? (int64_t)m->arity : -1);
}

/* If `has' is true, the class of the event has another string for the next
 * term: begins this string. Otherwise the next term is appended to the previous
 * string. */
static void next_string(struct ctf *x, struct inv_buf *out, bool has)
{
	if (has)
		flush_text(x, out, INV_CTF_TERM);
	else
		inv_buf_puts(&x->text, ", ");
}

static int put_terms(struct ctf *x, struct inv_buf *out,
		     const struct inv_event *ev, unsigned has)
{
	int rc = inv_event_payload(ev, x->sink.cursor);

	if (!rc)
		rc = print(x);
	if (ev->extra || has & INV_CTF_EXTRA)
		next_string(x, out, has & INV_CTF_EXTRA);
	if (!rc && ev->extra)
		rc = print(x);
	if (ev->ms_result || has & INV_CTF_RESULT)
		next_string(x, out, has & INV_CTF_RESULT);
	if (!rc && ev->ms_result)
		rc = print(x);
	flush_text(x, out, INV_CTF_TERM);
	return rc;
}

static int64_t duration(const struct inv_facts *f)
{
	if (f && f->call)
		return f->call->duration_ns;
	return f && f->gc ? f->gc->duration_ns : -1;
}

static int put_fields(struct ctf *x, struct inv_buf *out,
		      const struct inv_item *it, unsigned has)
{
	int rc = put_process(x, out, it);
	const char *tag;
	size_t len;

	if (has & INV_CTF_TAG) {
		tag = inv_event_tag(&it->ev, &len);
		inv_ctf_text(out, tag, len, INV_CTF_NAME);
	}
	if (!rc && has & INV_CTF_LABEL)
		rc = put_label(x, out, it);
	if (has & INV_CTF_FUNCTION)
		put_function(out, it);
	if (!rc)
		rc = put_terms(x, out, &it->ev, has);
	if (has & INV_CTF_DURATION)
		put_i64(out, duration(it->facts));
	return rc;
}

/* Writes a term that is not a trace event, from the file of a trace port. */
static int put_bare(struct ctf *x, struct inv_buf *out,
		    const struct inv_event *ev)
{
	int rc;

	inv_cursor_init(x->sink.cursor, INV_ENC_ETF, NULL, ev->raw,
			ev->raw_len);
	for (unsigned i = 0; i < 3; i++) /* no pid, no name, no tag */
		inv_ctf_text(out, NULL, 0, INV_CTF_NAME);
	rc = print(x);
	flush_text(x, out, INV_CTF_TERM);
	return rc;
}

/* --- the sink ------------------------------------------------------------- */

static int event(struct inv_sink *s, const struct inv_item *it)
{
	struct ctf *x = of(s);
	struct inv_ctf_stream *st = stream_of(x, it->node);
	unsigned id = it->ev.tag;
	size_t begin;
	int rc;

	if (!st)
		return 0;
	if (it->ev.bare || id >= INV_TAG_COUNT)
		id = INV_TAG_OTHER;
	begin = inv_ctf_stream_event(st, (uint16_t)id, it->ts_ns);
	rc = it->ev.bare ? put_bare(x, &st->packet, &it->ev) :
			   put_fields(x, &st->packet, it, inv_ctf_fields(id));
	if (rc) {
		inv_buf_reset(&x->text);
		inv_ctf_stream_cancel(st, begin);
		return rc;
	}
	inv_ctf_stream_end(st, &s->err);
	return 0;
}

static void loss(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_ctf_stream *st = stream_of(of(s), it->node);

	/* Events that came after a limit of the recording do not count as
	 * lost. */
	if (st && it->lost.reason != INV_LOSS_LIMIT)
		inv_ctf_stream_lose(st, it->ts_ns, it->lost.n, &s->err);
}

static int open_ctf(struct inv_sink *s, const char *path, struct inv_err *err)
{
	struct ctf *x = of(s);

	if (getrandom(x->uuid, sizeof(x->uuid), 0) != sizeof(x->uuid))
		return inv_err_sys(err, errno, "getrandom");
	/* Marks the UUID as version 4: random bits. */
	x->uuid[6] = (x->uuid[6] & 0x0f) | 0x40;
	x->uuid[8] = (x->uuid[8] & 0x3f) | 0x80;
	x->dir = strdup(path);
	return x->dir ? 0 : inv_err_set(err, INV_ENOMEM, "no memory");
}

static int close_ctf(struct inv_sink *s, struct inv_err *err)
{
	struct ctf *x = of(s);
	char *path = NULL;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < x->n_streams; i++)
		if (x->streams[i])
			rc = inv_ctf_stream_flush(x->streams[i], err);
	if (rc)
		return rc;
	if (asprintf(&path, "%s/metadata", x->dir) < 0)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	inv_buf_reset(&x->text);
	inv_ctf_metadata(&x->text, x->uuid);
	rc = inv_ctf_append(path, &x->text, err);
	free(path);
	return rc;
}

static void release(struct inv_sink *s)
{
	struct ctf *x = of(s);

	for (uint32_t i = 0; i < x->n_streams; i++) {
		if (x->streams[i])
			inv_ctf_stream_release(x->streams[i]);
		free(x->streams[i]);
	}
	free(x->streams);
	free(x->dir);
	inv_buf_release(&x->text);
}

const struct inv_sink_ops inv_sink_ctf = {
	.name = "ctf",
	.help = "a directory in the Common Trace Format, for babeltrace2",
	.size = sizeof(struct ctf),
	.calls = true,
	.event = event,
	.loss = loss,
	.release = release,
	.directory = true,
	.open = open_ctf,
	.close = close_ctf,
};
