/* SPDX-License-Identifier: Apache-2.0 */
/* What only the page shows: the timeline, the charts and the flame graph. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "report/page.h"
#include "sink/profile_sink.h"
#include "sink/sequence_json.h"

/* How many processes the timeline shows. */
#define LANES 200u
/* How many events a sequence chart shows. */
#define ROWS 400u
/* Frames with less than 1/PARTS of all time are left out. */
#define PARTS 5000u

struct writer {
	struct inv_report *r;
	struct inv_json *j;
	uint32_t *places; /* places[i]: position of lane i in the page's list of
			     lanes, from 1; 0: the lane is left out */
	uint32_t *names;  /* names[i]: position of function i in the page's list
			     of names, from 1; 0: not in the list yet */
	uint32_t n_names;
};

/* --- timeline ------------------------------------------------------------- */

static int by_events(const void *a, const void *b)
{
	const struct inv_timeline_lane *const *x = a, *const *y = b;

	if ((*x)->events != (*y)->events)
		return (*x)->events < (*y)->events ? 1 : -1;
	return (*x)->process < (*y)->process ? -1 : 1;
}

static void put_process(struct writer *w, uint32_t process)
{
	const struct inv_row_process *x = &w->r->cast->v[process - 1];
	struct inv_buf text = { 0 };
	size_t len;
	const char *node = inv_report_word(w->r, x->node, &len);

	inv_json_bytes(w->j, "node", node, len);
	inv_report_process(w->r, process, &text);
	inv_json_bytes(w->j, "name", text.data, text.len);
	inv_buf_reset(&text);
	inv_row_process_pid(x, &text);
	inv_json_bytes(w->j, "pid", text.data, text.len);
	if (text.error)
		w->j->out->error = text.error;
	inv_buf_release(&text);
}

static void put_lane(struct writer *w, const struct inv_timeline_lane *lane)
{
	uint32_t n = INV_TIMELINE_BINS;

	inv_json_open(w->j, NULL, '{');
	put_process(w, lane->process);
	inv_json_uint(w->j, "events", lane->events);
	inv_json_open(w->j, "bins", '[');
	while (n && !lane->bins[n - 1])
		n--;
	for (uint32_t i = 0; i < n; i++)
		inv_json_uint(w->j, NULL, lane->bins[i]);
	inv_json_close(w->j, ']');
	inv_json_close(w->j, '}');
}

static void put_lanes(struct writer *w)
{
	const struct inv_timeline *t = &w->r->timeline;
	const struct inv_timeline_lane **order =
		calloc(t->n_lanes + 1u, sizeof(*order));
	uint32_t n = t->n_lanes < LANES ? t->n_lanes : LANES;

	if (!order) {
		w->j->out->error = INV_ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < t->n_lanes; i++)
		order[i] = &t->lanes[i];
	if (t->n_lanes)
		qsort(order, t->n_lanes, sizeof(*order), by_events);
	inv_json_open(w->j, "lanes", '[');
	for (uint32_t i = 0; i < n; i++) {
		put_lane(w, order[i]);
		w->places[order[i] - t->lanes] = i + 1;
	}
	inv_json_close(w->j, ']');
	free(order);
}

/* Returns the position of a function in the list of names, from 1. If the
 * function is not in the list yet, adds it. */
static uint32_t place_of(struct writer *w, uint32_t what)
{
	if (what && !w->names[what - 1])
		w->names[what - 1] = ++w->n_names;
	return what ? w->names[what - 1] : 0;
}

/* Writes an array with five numbers for each slice: lane, function, begin,
 * duration, and 4 * depth + kind. Returns the number of slices. */
static uint64_t put_slices(struct writer *w)
{
	const struct inv_timeline *t = &w->r->timeline;
	uint64_t n = 0;

	inv_json_open(w->j, "slices", '[');
	for (size_t i = 0; i < t->slices.n; i++) {
		const struct inv_slice *s =
			(const struct inv_slice *)t->slices.v[i];
		uint32_t lane = w->places[s->lane - 1];

		if (!lane)
			continue;
		n++;
		inv_json_uint(w->j, NULL, lane - 1);
		inv_json_uint(w->j, NULL, place_of(w, s->function));
		inv_json_int(w->j, NULL,
			     (int64_t)((uint64_t)s->begin_ns -
				       (uint64_t)w->r->begin_ns));
		inv_json_int(w->j, NULL, s->top.value);
		inv_json_uint(w->j, NULL, 4u * s->depth + s->kind);
	}
	inv_json_close(w->j, ']');
	return n;
}

/* Writes the names of the functions of slices, in the order of their places. */
static void put_names(struct writer *w)
{
	const struct inv_cast *cast = w->r->cast;
	uint32_t *what = calloc(w->n_names + 1u, sizeof(*what));

	if (!what) {
		w->j->out->error = INV_ENOMEM;
		return;
	}
	for (uint32_t i = 0; cast && i < cast->n_functions; i++)
		if (w->names[i])
			what[w->names[i] - 1] = i;
	inv_json_open(w->j, "functions", '[');
	for (uint32_t i = 0; cast && i < w->n_names; i++) {
		size_t len;
		const char *text = inv_report_word(
			w->r, cast->functions[what[i]].mfa, &len);

		inv_json_bytes(w->j, NULL, text, len);
	}
	inv_json_close(w->j, ']');
	free(what);
}

static void put_bins(struct writer *w)
{
	const struct inv_bin *all = w->r->timeline.all;
	uint32_t n = INV_TIMELINE_BINS;

	while (n && !all[n - 1].events && !all[n - 1].failed &&
	       !all[n - 1].lost)
		n--;
	inv_json_open(w->j, "bins", '[');
	for (uint32_t i = 0; i < n; i++) {
		inv_json_open(w->j, NULL, '[');
		inv_json_uint(w->j, NULL, all[i].events);
		inv_json_uint(w->j, NULL, all[i].failed);
		inv_json_uint(w->j, NULL, all[i].lost);
		inv_json_close(w->j, ']');
	}
	inv_json_close(w->j, ']');
}

static void timeline(struct writer *w)
{
	struct inv_timeline *t = &w->r->timeline;
	uint64_t slices;

	inv_top_sort(&t->slices);
	inv_json_open(w->j, "timeline", '{');
	inv_json_int(w->j, "begin_ns",
		     t->begun ? (int64_t)((uint64_t)t->begin_ns -
					  (uint64_t)w->r->begin_ns) :
				0);
	inv_json_int(w->j, "bin_ns", t->bin_ns);
	put_bins(w);
	put_lanes(w);
	inv_json_uint(w->j, "processes", t->n_lanes);
	if (!w->j->out->error) {
		slices = put_slices(w);
		inv_json_uint(w->j, "shown", slices);
		inv_json_uint(w->j, "seen", t->slices.seen);
		put_names(w);
	}
	inv_json_close(w->j, '}');
}

/* --- charts and profile --------------------------------------------------- */

static void charts(struct writer *w)
{
	const struct inv_charts *c = &w->r->charts;

	inv_json_open(w->j, "charts", '[');
	for (size_t i = 0; i < c->n_kept; i++)
		inv_sequence_json(&c->kept[i]->hops, ROWS,
				  c->kept[i]->hops.left_out, 0, w->j);
	inv_json_close(w->j, ']');
}

static bool is_wide(const struct inv_paths *p, const struct inv_paths_frame *f)
{
	return f->total_ns &&
	       f->total_ns >= inv_paths_root(p)->total_ns / PARTS;
}

/* Writes an array with five numbers for each frame: name, depth, total time,
 * own time, and calls or samples. A frame comes before the frames below it. */
static void put_frames(struct writer *w, const struct inv_paths *p)
{
	const struct inv_paths_frame *f = NULL;
	uint64_t narrow = 0;

	inv_json_open(w->j, "frames", '[');
	while ((f = inv_paths_next(p, f)) && !w->j->out->error) {
		if (!is_wide(p, f)) {
			narrow++;
			continue;
		}
		inv_json_uint(w->j, NULL, f->name->number);
		inv_json_uint(w->j, NULL, f->depth);
		inv_json_uint(w->j, NULL, f->total_ns);
		inv_json_uint(w->j, NULL, f->self_ns);
		inv_json_uint(w->j, NULL, f->count);
	}
	inv_json_close(w->j, ']');
	inv_json_uint(w->j, "narrow", narrow);
}

static void profile(struct writer *w, const struct inv_paths *p)
{
	uint32_t n = inv_paths_names(p);
	const struct inv_paths_name **names = calloc(n + 1u, sizeof(*names));

	if (!names) {
		w->j->out->error = INV_ENOMEM;
		return;
	}
	inv_paths_list(p, names);
	inv_json_open(w->j, "profile", '{');
	inv_json_text(w->j, "unit", inv_paths_unit(p));
	inv_json_uint(w->j, "ns", inv_paths_root(p)->total_ns);
	inv_json_uint(w->j, "count", inv_paths_root(p)->total_count);
	inv_json_uint(w->j, "unsure", p->unsure);
	inv_json_open(w->j, "names", '[');
	for (uint32_t i = 0; i < n; i++)
		inv_json_bytes(w->j, NULL, names[i]->text, names[i]->len);
	inv_json_close(w->j, ']');
	put_frames(w, p);
	inv_json_close(w->j, '}');
	free(names);
}

void inv__report_page_data(struct inv_report *r,
			   const struct inv_report_about *a, struct inv_json *j)
{
	size_t n_functions = r->cast ? r->cast->n_functions : 0;
	struct writer w = {
		.r = r,
		.j = j,
		.places = calloc(INV_TIMELINE_LANES, sizeof(*w.places)),
		.names = calloc(n_functions + 1, sizeof(*w.names)),
	};

	if (w.places && w.names) {
		timeline(&w);
		charts(&w);
		profile(&w, a->profile);
	} else {
		j->out->error = INV_ENOMEM;
	}
	free(w.places);
	free(w.names);
}
