/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/profiling.h"

#include <string.h>

#include "term/print.h"

/* --- the first frame of a path -------------------------------------------- */

static struct inv_paths_frame *enter_words(struct inv_paths *p,
					   struct inv_paths_frame *above,
					   const char *before, const void *text,
					   size_t len, const char *after)
{
	struct inv_paths_frame *frame = NULL;
	struct inv_buf b = { 0 };

	inv_buf_puts(&b, before);
	inv_buf_put(&b, text, len);
	inv_buf_puts(&b, after);
	if (!b.error)
		frame = inv_paths_enter_text(p, above, b.data, b.len);
	inv_buf_release(&b);
	return frame;
}

static struct inv_paths_frame *root(struct inv_flow *f,
				    const struct inv_item *it,
				    const struct inv_process *process)
{
	struct inv_paths *p = f->opts.profile;
	struct inv_paths_frame *top = inv_paths_root(p);
	struct inv_process_name name = { 0 };

	if (p->by == INV_PATHS_BY_NOTHING)
		return top;
	if (p->by == INV_PATHS_BY_NODE)
		return inv_paths_enter_text(p, top, it->node->name,
					    strlen(it->node->name));
	if (process)
		name = inv_process_name(process);
	if (p->by == INV_PATHS_BY_LABEL && !name.label)
		return enter_words(p, top, "(no label)", "", 0, "");
	if (!name.len)
		return enter_words(p, top, "(no name)", "", 0, "");
	if (name.registered)
		return inv_paths_enter_text(p, top, name.text, name.len);
	return enter_words(p, top, "(", name.text, name.len, ")");
}

/* --- calls ---------------------------------------------------------------- */

struct inv_paths_frame *inv_profiling_enter(struct inv_flow *f,
					    const struct inv_item *it,
					    struct inv_process *p,
					    const struct inv_mfa *mfa)
{
	const struct inv_calls *calls = inv_process_calls(p);
	struct inv_paths_frame *above =
		calls->n ? calls->v[calls->n - 1].frame : root(f, it, p);

	return inv_paths_enter(f->opts.profile, above, mfa,
			       f->facts.manner->elixir);
}

static void add(struct inv_paths *p, struct inv_paths_frame *frame,
		int64_t self_ns, bool certain)
{
	p->called = true;
	if (certain && self_ns >= 0 && self_ns <= INV_PATHS_NS_MAX)
		inv_paths_add(p, frame, 1, self_ns);
	else
		p->unsure++;
}

/* Adds the open calls around f->call to the profile, because the exit of the
 * process ends them. The last open call is f->call itself. But if f->call is
 * `decided', its beginning has no event, so it is not among the open calls. */
static void add_around(struct inv_flow *f, const struct inv_item *it)
{
	const struct inv_calls *calls = inv_process_calls(f->exited);
	int64_t inner = f->call.duration_ns;
	uint32_t i = f->call.decided ? calls->n : calls->n - 1;

	for (; i > 0; i--) {
		const struct inv_open_call *c = &calls->v[i - 1];
		int64_t all = inv_calls_between(c->begin_ns, it->mono_ns);
		int64_t rest = inv_calls_between(inner, all);

		add(f->opts.profile, c->frame,
		    inv_calls_between(c->inner_ns, rest), f->call.certain);
		inner = all;
	}
}

void inv_flow_profile(struct inv_flow *f, const struct inv_item *it)
{
	if (!f->opts.profile || !it->facts || !it->facts->call)
		return;
	add(f->opts.profile, f->call.frame, f->call.self_ns, f->call.certain);
	if (f->call.end == INV_CALL_EXIT && f->exited)
		add_around(f, it);
}

void inv_profiling_mark(void *arg)
{
	struct inv_flow *f = arg;
	struct inv_process *p = NULL;

	while ((p = inv_processes_next(&f->processes, p))) {
		const struct inv_calls *calls = inv_process_calls(p);

		for (uint32_t i = 0; i < calls->n; i++)
			inv_paths_mark(calls->v[i].frame);
	}
}

/* --- samples -------------------------------------------------------------- */

/* A sample whose terms are being read: INV_NOTE_SAMPLE in abi/event.h. */
struct sample {
	int64_t flags;
	int64_t ns;
	int64_t n; /* how many stack frames the sample has */
	struct inv_paths_frame *frame;
};

static void enter_word(struct inv_flow *f, struct sample *s, const char *word)
{
	s->frame = enter_words(f->opts.profile, s->frame, word, "", 0, "");
}

static bool read_head(struct inv_flow *f, const struct inv_item *it,
		      struct sample *s)
{
	struct inv_process_key key;
	struct inv_token tok;

	if (inv_cursor_next(f->cursor, &tok) ||
	    !inv_process_key(&key, it->node, &tok) ||
	    inv_cursor_int(f->cursor, &s->flags) ||
	    inv_cursor_int(f->cursor, &s->ns) ||
	    inv_cursor_int(f->cursor, &s->n) || s->ns < 0 ||
	    s->ns > INV_PATHS_NS_MAX)
		return false;
	s->frame = root(f, it, inv_processes_find(&f->processes, &key));
	return true;
}

/* Enters the functions of the stack, the outermost first. */
static bool read_stack(struct inv_flow *f, const struct inv_item *it,
		       struct sample *s)
{
	bool elixir = f->nodes[it->node->number].manner.elixir;
	struct inv_token tok;

	for (int64_t i = 0; i < s->n; i++) {
		if (inv_mfa_read(&f->mfa, f->cursor, &it->ev) != 1)
			return false;
		s->frame = inv_paths_enter(f->opts.profile, s->frame, &f->mfa,
					   elixir);
		inv_mfa_third(&f->mfa, f->cursor, &it->ev);
		if (inv_cursor_next(f->cursor, &tok))
			return false;
	}
	return true;
}

/* Enters a frame that says what the process waits for. */
static bool read_other(struct inv_flow *f, const struct inv_item *it,
		       struct sample *s)
{
	const struct inv_print_opts w = { .unicode = true,
					  .otp = it->node->otp_release };
	struct inv_identity id;
	struct inv_token tok;
	bool done = true;

	if (inv_cursor_next(f->cursor, &tok))
		return false;
	inv_buf_reset(&f->text);
	if (!inv_flow_identify(f, it->node, it->ev.dict, &tok, &id)) {
		done = !inv_term_print_token(f->cursor, &tok, &f->text, &w);
	} else if (id.name.len) {
		inv_buf_put(&f->text, id.name.text, id.name.len);
	} else {
		inv_buf_puts(&f->text, "a process without a name");
	}
	if (id.node_len && id.at != it->node) {
		inv_buf_puts(&f->text, " on ");
		inv_buf_put(&f->text, id.node, id.node_len);
	}
	if (done)
		s->frame = enter_words(f->opts.profile, s->frame, "(waits for ",
				       f->text.data, f->text.len, ")");
	return done && !f->text.error;
}

void inv_profiling_sample(struct inv_flow *f, const struct inv_item *it)
{
	struct inv_paths *p = f->opts.profile;
	struct sample s = { 0 };

	if (!p || !read_head(f, it, &s))
		return;
	if (s.flags & INV_SAMPLE_CUT)
		enter_word(f, &s, "(more)");
	if (!read_stack(f, it, &s) ||
	    (s.flags & INV_SAMPLE_ON && !read_other(f, it, &s)))
		return;
	if (s.flags & INV_SAMPLE_COLLECTS)
		enter_word(f, &s, "(collects garbage)");
	if (s.flags & INV_SAMPLE_LATE)
		enter_word(f, &s, "(waited when it answered)");
	p->sampled = true;
	inv_paths_add(p, s.frame, 1, s.ns);
}

/* --- how samples were taken ----------------------------------------------- */

void inv_profiling_sampling(struct inv_flow *f, const struct inv_item *it)
{
	int64_t v[INV_SAMPLING_N] = { 0 };
	struct inv_sampling_sums *s;

	if (!f->opts.profile)
		return;
	for (unsigned i = 0; i < INV_SAMPLING_N; i++)
		if (inv_cursor_int(f->cursor, &v[i]) || v[i] < 0)
			return;
	s = &f->nodes[it->node->number].sampling;
	/* Notes of several threads can come out of order. The numbers only
	 * grow, so the larger number is the later one. */
	for (unsigned i = 0; i < INV_SAMPLING_N; i++)
		if (s->v[i] < (uint64_t)v[i])
			s->v[i] = (uint64_t)v[i];
}

const struct inv_sampling_sums *inv_flow_sampling(const struct inv_flow *f,
						  const struct inv_node *node)
{
	const struct inv_sampling_sums *s;

	if (node->number >= f->n_nodes)
		return NULL;
	s = &f->nodes[node->number].sampling;
	return s->v[INV_SAMPLING_TICKS] ? s : NULL;
}
