/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a timeline, and numbers that stand for names in packets. */
#include "sink/perfetto_int.h"

#include <stdlib.h>

#define SEQUENCE 1u /* all packets are of one sequence */
/* Flags of a packet. */
#define CLEARED 1u /* numbers that names have in earlier packets are void */
#define NEEDS 2u   /* the packet uses numbers of names from earlier packets */

/*
 * Times are nanoseconds since the Unix epoch, and have been corrected for the
 * differences between the clocks of the nodes. They are written as times of
 * CLOCK_BOOTTIME. A packet says that CLOCK_REALTIME has the same time, so that
 * the reader can show dates.
 */
#define CLOCK_BOOTTIME 6u
#define CLOCK_REALTIME 1u

#define SLOTS (4 * INV_PF_FUNCTIONS)

static size_t packet(struct inv_buf *out, unsigned flags)
{
	size_t at = inv_proto_open(out, PF_TRACE_PACKET);

	inv_proto_u64(out, PF_PACKET_SEQUENCE, SEQUENCE);
	inv_proto_u64(out, PF_PACKET_FLAGS, flags);
	return at;
}

static void clock_is(struct inv_buf *out, unsigned id, uint64_t ns)
{
	size_t at = inv_proto_open(out, PF_CLOCKS_CLOCK);

	inv_proto_u64(out, PF_CLOCK_ID, id);
	inv_proto_u64(out, PF_CLOCK_TIME, ns);
	inv_proto_close(out, at);
}

static void clocks(struct inv_buf *out, uint64_t ns)
{
	size_t at = inv_proto_open(out, PF_TRACE_PACKET), inner;

	inv_proto_u64(out, PF_PACKET_TIME, ns);
	inv_proto_u64(out, PF_PACKET_SEQUENCE, SEQUENCE);
	inner = inv_proto_open(out, PF_PACKET_CLOCKS);
	clock_is(out, CLOCK_BOOTTIME, ns);
	clock_is(out, CLOCK_REALTIME, ns);
	inv_proto_u64(out, PF_CLOCKS_PRIMARY, CLOCK_BOOTTIME);
	inv_proto_close(out, inner);
	inv_proto_close(out, at);
}

/* Writes a string and its number; `field' is the kind of the string. */
static void string(struct inv_buf *out, uint32_t field, uint32_t number,
		   const void *text, size_t len)
{
	size_t at = inv_proto_open(out, field);

	inv_proto_u64(out, PF_STRING_NUMBER, number);
	inv_proto_bytes(out, PF_STRING_TEXT, text, len);
	inv_proto_close(out, at);
}

static void fixed_strings(struct inv_buf *out)
{
	static const char *const keys[] = {
#define KEY(name, text) text,
		INV_PF_KEYS(KEY)
#undef KEY
	};
	static const char *const states[] = {
#define STATE(name, text) text,
		INV_PF_STATES(STATE)
#undef STATE
	};

	for (uint32_t i = 1; i < INV_TAG_COUNT; i++) {
		size_t len;
		const char *tag = inv_tag_text(i, &len);

		string(out, PF_INTERNED_CATEGORY, i, tag, len);
		string(out, PF_INTERNED_NAME, i, tag, len);
	}
	for (uint32_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		string(out, PF_INTERNED_NAME, INV_PF_NAME_TAGS + 1 + i,
		       states[i], strlen(states[i]));
	for (uint32_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		string(out, PF_INTERNED_KEY, i + 1, keys[i], strlen(keys[i]));
}

/* Starts a new set of numbers for names. */
static void renumber(struct inv_perfetto *f)
{
	struct inv_buf *out = f->sink.out;
	size_t at = packet(out, CLEARED), inner;

	inner = inv_proto_open(out, PF_PACKET_DEFAULTS);
	inv_proto_u64(out, PF_DEFAULTS_CLOCK, CLOCK_BOOTTIME);
	inv_proto_close(out, inner);
	inner = inv_proto_open(out, PF_PACKET_INTERNED);
	fixed_strings(out);
	inv_proto_close(out, inner);
	inv_proto_close(out, at);
	memset(f->functions, 0, SLOTS * sizeof(*f->functions));
	f->n_functions = 0;
}

void inv__pf_begin(struct inv_perfetto *f, int64_t ts_ns)
{
	if (inv_likely(f->begun))
		return;
	f->begun = true;
	clocks(f->sink.out, ts_ns > 0 ? (uint64_t)ts_ns : 0);
	renumber(f);
}

struct inv_pf_open inv__pf_event(struct inv_perfetto *f, enum inv_pf_type type,
				 uint64_t track, int64_t ts_ns)
{
	struct inv_buf *out = f->sink.out;
	struct inv_pf_open o = { .packet = packet(out, NEEDS) };

	inv_proto_u64(out, PF_PACKET_TIME, ts_ns > 0 ? (uint64_t)ts_ns : 0);
	o.inner = inv_proto_open(out, PF_PACKET_EVENT);
	inv_proto_u64(out, PF_EVENT_TYPE, type);
	inv_proto_u64(out, PF_EVENT_TRACK, track);
	return o;
}

struct inv_pf_open inv__pf_track(struct inv_perfetto *f, uint64_t track,
				 uint64_t parent, const void *name, size_t len)
{
	struct inv_buf *out = f->sink.out;
	struct inv_pf_open o = { .packet = packet(out, NEEDS) };

	o.inner = inv_proto_open(out, PF_PACKET_TRACK);
	inv_proto_u64(out, PF_TRACK_UUID, track);
	if (parent)
		inv_proto_u64(out, PF_TRACK_PARENT, parent);
	inv_proto_bytes(out, PF_TRACK_NAME, name, len);
	return o;
}

void inv__pf_close(struct inv_perfetto *f, struct inv_pf_open o)
{
	inv_proto_close(f->sink.out, o.inner);
	inv_proto_close(f->sink.out, o.packet);
}

void inv__pf_end(struct inv_perfetto *f, uint64_t track, int64_t ts_ns,
		 const char *why)
{
	struct inv_pf_open o = inv__pf_event(f, INV_PF_END, track, ts_ns);

	if (why)
		inv__pf_text(f, INV_PF_KEY_END, why, strlen(why));
	inv__pf_close(f, o);
}

/* --- functions ------------------------------------------------------------ */

static struct inv_pf_function *slot(struct inv_perfetto *f, uint64_t key)
{
	uint64_t i = key % SLOTS;

	while (f->functions[i].number && f->functions[i].key != key)
		i = (i + 1) % SLOTS;
	return &f->functions[i];
}

static void put_function(struct inv_perfetto *f, const struct inv_mfa *m)
{
	const struct inv_print_opts *o = &f->sink.print;
	struct inv_buf *b = &f->text;

	inv_buf_reset(b);
	if (o->syntax == INV_SYNTAX_ELIXIR) {
		inv_term_print_module(m->module.bytes, m->module.len, b, o);
		inv_term_print_function(m->function.bytes, m->function.len, b,
					o);
	} else {
		inv_term_print_atom(m->module.bytes, m->module.len, b, o);
		inv_buf_putc(b, ':');
		inv_term_print_atom(m->function.bytes, m->function.len, b, o);
	}
	inv_buf_putc(b, '/');
	inv_buf_u64(b, m->arity);
}

uint32_t inv__pf_function(struct inv_perfetto *f, const struct inv_item *it,
			  const struct inv_mfa *m)
{
	struct inv_buf *out = f->sink.out;
	struct inv_pf_function *x;
	size_t at, inner;
	uint64_t key;

	/* The printed name depends on the syntax and the release. */
	key = m->hash + (uint64_t)f->sink.print.syntax * 77 +
	      (uint64_t)it->node->otp_release * 1000003;
	x = slot(f, key);
	if (inv_likely(x->number))
		return x->number;
	if (f->n_functions == INV_PF_FUNCTIONS) {
		renumber(f);
		x = slot(f, key);
	}
	x->key = key;
	x->number = INV_PF_NAME_FUNCTION + f->n_functions++;
	put_function(f, m);
	at = packet(out, NEEDS);
	inner = inv_proto_open(out, PF_PACKET_INTERNED);
	string(out, PF_INTERNED_NAME, x->number, f->text.data, f->text.len);
	inv_proto_close(out, inner);
	inv_proto_close(out, at);
	if (f->text.error)
		out->error = f->text.error;
	return x->number;
}
