/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/sink.h"

#include <stdlib.h>
#include <string.h>

#include "flow/facts.h"
#include "log/names.h"
#include "sink/formats.h"

/* Formats whose code is not in c_src/sink. A program that has the code of such
 * a format replaces the entry here at its start (inv_sink_provide). All other
 * programs run `program' as a helper to write the format. */
static const struct inv_sink_ops parquet = {
	.name = "parquet",
	.help = "a directory of Parquet files, a table in each",
	.program = "inviso_sql",
};
static const struct inv_sink_ops sqlite = {
	.name = "sqlite",
	.help = "an SQLite database, with views that answer questions",
	.program = "inviso_sql",
};

const struct inv_sink_ops *const inv_sinks[] = {
	&inv_sink_text,
	&inv_sink_json,
	&inv_sink_classic,
	&inv_sink_etf,
	&inv_sink_mermaid,
	&inv_sink_shiviz,
	&inv_sink_sequence,
	&inv_sink_perfetto,
	&inv_sink_otlp,
	&inv_sink_otlp_proto,
	&inv_sink_ctf,
	&parquet,
	&inv_sink_folded,
	&inv_sink_speedscope,
	&inv_sink_pprof,
	&inv_sink_callgrind,
	&inv_sink_svg,
	&sqlite,
	NULL,
};

static const struct inv_sink_ops *const *provided;

void inv_sink_provide(const struct inv_sink_ops *const *formats)
{
	provided = formats;
}

const struct inv_sink_ops *inv_sink_find(const char *name)
{
	for (unsigned i = 0; provided && provided[i]; i++)
		if (!strcmp(provided[i]->name, name))
			return provided[i];
	for (unsigned i = 0; inv_sinks[i]; i++)
		if (!strcmp(inv_sinks[i]->name, name))
			return inv_sinks[i];
	return NULL;
}

int inv_sink_new(struct inv_sink **sink, const struct inv_sink_ops *ops,
		 const struct inv_sink_opts *opts, struct inv_buf *out)
{
	struct inv_sink *s = calloc(1, ops->size);
	int rc = 0;

	if (!s)
		return INV_ENOMEM;
	s->ops = ops;
	s->opts = *opts;
	s->out = out;
	s->cursor = malloc(sizeof(*s->cursor));
	if (!s->cursor)
		rc = INV_ENOMEM;
	else if (ops->init)
		rc = ops->init(s);
	if (rc) {
		inv_sink_free(s);
		return rc;
	}
	*sink = s;
	return 0;
}

void inv_sink_free(struct inv_sink *s)
{
	if (!s)
		return;
	if (s->ops->release)
		s->ops->release(s);
	for (uint32_t i = 0; i < s->n_nodes; i++)
		free(s->nodes[i].text);
	free(s->nodes);
	free(s->cursor);
	free(s);
}

static void lose(struct inv_sink *s, const struct inv_item *it)
{
	if (it->lost.reason < INV_LOST_COUNT)
		s->sum.lost[it->lost.reason] += it->lost.n;
	s->sum.entries++;
	if (s->ops->loss)
		s->ops->loss(s, it);
}

/* Handles a recorded event that cannot be printed: writes and counts it as a
 * loss. */
static void lose_event(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_item lost = *it;

	lost.kind = INV_ITEM_LOSS;
	lost.lost.n = 1;
	lost.lost.reason = INV_LOST_UNREADABLE;
	lose(s, &lost);
}

int inv_sink_item(struct inv_sink *s, const struct inv_item *it)
{
	size_t before;

	if (s->ops->before)
		s->ops->before(s, it);
	before = s->out->len;
	s->print.otp = it->node->otp_release;
	if (it->kind == INV_ITEM_LOSS) {
		lose(s, it);
	} else if (!s->ops->event(s, it)) {
		s->sum.recorded++;
		if (it->facts && it->facts->context)
			s->sum.filtered++;
		else
			s->sum.entries++;
	} else if (!s->out->error) {
		s->out->len = before;
		lose_event(s, it);
	}
	return s->err.code ? s->err.code : s->out->error;
}

void inv_sink_flush(struct inv_sink *s)
{
	if (s->ops->before)
		s->ops->before(s, NULL);
}

int inv_sink_end(struct inv_sink *s)
{
	inv_sink_flush(s);
	if (s->ops->end)
		s->ops->end(s);
	return s->err.code ? s->err.code : s->out->error;
}

/* --- for the formats ------------------------------------------------------ */

void inv_sink_for_people(struct inv_sink *s)
{
	if (s->opts.json)
		return;
	s->print.style = INV_PRINT_P;
	s->print.unicode = true;
	s->print.depth = s->opts.depth;
	s->print.fields[0] = s->opts.records ? s->opts.fields : NULL;
}

void inv_sink_manner(struct inv_sink *s, const struct inv_item *it)
{
	const struct inv_manner *manner = it->facts ? it->facts->manner : NULL;
	const struct inv_mfa *m = it->facts ? it->facts->mfa : NULL;
	struct inv_print_opts *o = &s->print;

	o->otp = it->node->otp_release;
	if (s->opts.json)
		return;
	if (s->opts.has_syntax)
		o->syntax = s->opts.syntax;
	else
		o->syntax = manner && manner->elixir ? INV_SYNTAX_ELIXIR :
						       INV_SYNTAX_ERLANG;
	o->fields[1] = s->opts.records && manner ? manner->fields : NULL;
	if (!o->fields[0] && !o->fields[1])
		return;
	o->module = m ? m->module.bytes : NULL;
	o->module_len = m ? m->module.len : 0;
}

static struct inv_sink_node *make_node(struct inv_sink *s,
				       const struct inv_node *node,
				       void (*make)(struct inv_buf *b,
						    const struct inv_node *n))
{
	struct inv_buf b = { 0 };
	struct inv_sink_node *n;

	if (node->number >= s->n_nodes) {
		n = realloc(s->nodes, (node->number + 1) * sizeof(*n));
		if (!n)
			return NULL;
		memset(n + s->n_nodes, 0,
		       (node->number + 1 - s->n_nodes) * sizeof(*n));
		s->nodes = n;
		s->n_nodes = node->number + 1;
	}
	make(&b, node);
	n = &s->nodes[node->number];
	n->node = node;
	n->text = b.data; /* n owns the memory now, so b is not released */
	n->len = b.len;
	return n;
}

void inv_sink_node_text(struct inv_sink *s, const struct inv_node *node,
			void (*make)(struct inv_buf *b,
				     const struct inv_node *node))
{
	const struct inv_sink_node *n;

	if (node->number < s->n_nodes && s->nodes[node->number].node)
		n = &s->nodes[node->number];
	else
		n = make_node(s, node, make);
	if (n)
		inv_buf_put(s->out, n->text, n->len);
}

unsigned inv_sink_names(struct inv_sink *s, const struct inv_item *it,
			const struct inv_token *tok, const char *sep)
{
	const struct inv_name *name;
	unsigned n = 0;

	if (!it->node->names || tok->kind != INV_TOK_PID || tok->node)
		return 0;
	name = inv_names_find(it->node->names, tok->id[0], tok->id[1]);
	for (; name; name = name->next) {
		if (!inv_name_holds(name, it->ts_ns))
			continue;
		if (n++)
			inv_buf_puts(s->out, sep);
		inv_buf_put(s->out, name->text, name->len);
	}
	return n;
}

/* Reads the process in which {Kind, Serial, From, To, Message} happened: To if
 * Kind is 'receive', otherwise From. The cursor c is before the payload. */
static int seq_process(struct inv_cursor *c, struct inv_token *tok)
{
	bool receive;

	if (inv_cursor_next(c, tok) || tok->kind != INV_TOK_TUPLE ||
	    tok->count != 5 || inv_cursor_next(c, tok))
		return INV_END;
	receive = inv_token_is(tok, "receive");
	if (inv_cursor_skip_rest(c, tok) || inv_cursor_skip(c) ||
	    (receive && inv_cursor_skip(c)) || inv_cursor_next(c, tok))
		return INV_END;
	return 0;
}

int inv_sink_process(struct inv_sink *s, const struct inv_item *it,
		     struct inv_token *tok)
{
	int rc = inv_event_tracee(&it->ev, s->cursor, tok);

	if (rc || it->ev.tag != INV_TAG_SEQ_TRACE)
		return rc;
	rc = inv_event_payload(&it->ev, s->cursor);
	return rc ? rc : seq_process(s->cursor, tok);
}
