/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line format of the original Inviso's merge:
 *
 *	Node PidMappings Term
 *
 * Each of these three terms is printed like ~w. Term is the trace tuple as OTP
 * sends it to a tracer process, or {drop,N}.
 */
#include "log/names.h"
#include "sink/formats.h"

static void node_text(struct inv_buf *b, const struct inv_node *node)
{
	struct inv_print_opts w = { .otp = node->otp_release };

	inv_term_print_atom((const uint8_t *)node->name, strlen(node->name), b,
			    &w);
	inv_buf_puts(b, " [");
}

static void mega_sec_micro(struct inv_buf *out, int64_t ns)
{
	int64_t us = ns / 1000 - (ns % 1000 < 0);
	int64_t sec = us / 1000000 - (us % 1000000 < 0);

	us -= sec * 1000000;
	inv_buf_putc(out, '{');
	inv_buf_i64(out, sec / 1000000);
	inv_buf_putc(out, ',');
	inv_buf_i64(out, sec % 1000000);
	inv_buf_putc(out, ',');
	inv_buf_i64(out, us);
	inv_buf_putc(out, '}');
}

static void timestamp(struct inv_buf *out, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;

	switch (ev->ts_kind) {
	case INV_TS_TIMESTAMP:
		mega_sec_micro(out, it->ts_ns);
		break;
	case INV_TS_CPU:
		mega_sec_micro(out, (int64_t)(ev->cpu_ns & INT64_MAX));
		break;
	case INV_TS_STRICT:
		inv_buf_putc(out, '{');
		inv_buf_i64(out, it->erl_ns);
		inv_buf_putc(out, ',');
		inv_buf_i64(out, ev->unique);
		inv_buf_putc(out, '}');
		break;
	default:
		inv_buf_i64(out, it->erl_ns);
		break;
	}
}

/* Prints a comma and the event's next term. */
static int element(struct inv_sink *s)
{
	int rc;

	inv_buf_putc(s->out, ',');
	rc = inv_term_print(s->cursor, s->out, &s->print);
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

static void tag(struct inv_sink *s, const struct inv_event *ev)
{
	size_t len;
	const char *text = inv_event_tag(ev, &len);

	inv_buf_putc(s->out, ',');
	if (ev->tag == INV_TAG_RECEIVE)
		inv_buf_puts(s->out, "'receive'");
	else if (ev->tag == INV_TAG_OTHER)
		inv_term_print_atom((const uint8_t *)text, len, s->out,
				    &s->print);
	else
		inv_buf_put(s->out, text, len);
}

static int packed_tuple(struct inv_sink *s, const struct inv_item *it,
			const struct inv_token *tracee)
{
	const struct inv_event *ev = &it->ev;
	struct inv_buf *out = s->out;
	int rc;

	if (ev->tag == INV_TAG_SEQ_TRACE)
		inv_buf_puts(out, "{seq_trace,");
	else
		inv_buf_puts(out, ev->ts_kind ? "{trace_ts," : "{trace,");
	rc = inv_term_print_token(s->cursor, tracee, out, &s->print);
	if (!rc && ev->tag != INV_TAG_SEQ_TRACE)
		tag(s, ev);
	if (!rc)
		rc = inv_event_payload(ev, s->cursor);
	if (!rc)
		rc = element(s);
	if (!rc && ev->extra)
		rc = element(s);
	if (!rc && ev->ms_result)
		rc = element(s);
	if (rc)
		return rc;
	if (ev->has_sched) {
		inv_buf_putc(out, ',');
		inv_buf_u64(out, ev->sched);
	}
	if (ev->ts_kind) {
		inv_buf_putc(out, ',');
		timestamp(out, it);
	}
	inv_buf_putc(out, '}');
	return 0;
}

static int raw_term(struct inv_sink *s, const struct inv_event *ev)
{
	int rc;

	inv_cursor_init(s->cursor, INV_ENC_ETF, NULL, ev->raw, ev->raw_len);
	rc = inv_term_print(s->cursor, s->out, &s->print);
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

static int classic_event(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_token tracee = { 0 };
	int rc = 0;

	inv_sink_node_text(s, it->node, node_text);
	if (!it->ev.bare)
		rc = inv_event_tracee(&it->ev, s->cursor, &tracee);
	if (rc)
		return rc;
	if (it->ev.tag != INV_TAG_SEQ_TRACE)
		inv_sink_names(s, it, &tracee, ",");
	inv_buf_puts(s->out, "] ");
	rc = it->ev.raw ? raw_term(s, &it->ev) : packed_tuple(s, it, &tracee);
	inv_buf_putc(s->out, '\n');
	return rc;
}

static void classic_loss(struct inv_sink *s, const struct inv_item *it)
{
	inv_sink_node_text(s, it->node, node_text);
	inv_buf_puts(s->out, "] {drop,");
	inv_buf_u64(s->out, it->lost.n);
	inv_buf_puts(s->out, "}\n");
}

const struct inv_sink_ops inv_sink_classic = {
	.name = "classic",
	.help = "Node PidMappings Term, as the original Inviso wrote it",
	.size = sizeof(struct inv_sink),
	.event = classic_event,
	.loss = classic_loss,
};
