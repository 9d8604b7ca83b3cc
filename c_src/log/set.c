/* SPDX-License-Identifier: Apache-2.0 */
#include "log/set.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
	const struct inv_log_file *x = a;
	const struct inv_log_file *y = b;

	if (x->about.head.file_no != y->about.head.file_no)
		return x->about.head.file_no < y->about.head.file_no ? -1 : 1;
	/* Twice the same number: the larger one knows more. */
	return (x->src.size < y->src.size) - (x->src.size > y->src.size);
}

/* Leaves the first of each number. */
static void drop_twins(struct inv_log_set *s, struct inv_notices *ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_files; i++) {
		struct inv_log_file *f = &s->files[i];

		if (n && s->files[n - 1].about.head.file_no ==
				 f->about.head.file_no) {
			inv_notice_info(ns, f->src.name,
					"left out: the same part of the log as "
					"%s",
					s->files[n - 1].src.name);
			inv_log_file_close(f);
			continue;
		}
		if (n != i) {
			s->files[n] = *f;
			memset(f, 0, sizeof(*f));
		}
		n++;
	}
	s->n_files = n;
}

static void report_missing(const struct inv_log_set *s, struct inv_notices *ns)
{
	for (uint32_t i = 1; i < s->n_files; i++) {
		uint32_t before = s->files[i - 1].about.head.file_no;
		uint32_t here = s->files[i].about.head.file_no;

		if (here - before > 1)
			inv_notice_info(ns, s->files[i].src.name,
					"%u file(s) of this log are missing "
					"before this one",
					here - before - 1);
	}
}

int inv_log_set_init(struct inv_log_set *s, struct inv_log_file *files,
		     uint32_t n_files, struct inv_notices *ns)
{
	memset(s, 0, sizeof(*s));
	s->files = files;
	s->n_files = n_files;
	qsort(files, n_files, sizeof(*files), by_number);
	drop_twins(s, ns);
	report_missing(s, ns);
	s->beginning_lost = s->n_files && s->files[0].about.head.file_no > 0;
	for (uint32_t i = 0; i < s->n_files; i++)
		if (s->files[i].n_streams > s->n_streams)
			s->n_streams = s->files[i].n_streams;
	return 0;
}

void inv_log_set_release(struct inv_log_set *s)
{
	for (uint32_t i = 0; i < s->n_files; i++)
		inv_log_file_close(&s->files[i]);
	free(s->files);
	memset(s, 0, sizeof(*s));
}

bool inv_log_check_end(const struct inv_log_packet *last, const char *file,
		       struct inv_notices *ns)
{
	if (last->type != INV_LOG_TOTALS) {
		inv_notice_info(ns, file,
				"the log has no end: it is still being "
				"written, was cut, or its writer was killed");
		return false;
	}
	switch ((uint32_t)last->seq) {
	case INV_END_ROTATED:
		inv_notice_info(ns, file,
				"the log goes on in a file that is not here");
		return false;
	case INV_END_TERMINATED:
		inv_notice_info(ns, file,
				"the log's writer was told to leave before the "
				"tracer was closed");
		break;
	case INV_END_VM:
		inv_notice_info(ns, file, "the log ends because the node died");
		break;
	default:
		break;
	}
	return true;
}

bool inv_log_set_check_end(const struct inv_log_set *s, struct inv_notices *ns)
{
	const struct inv_log_file *f;

	if (!s->n_files)
		return true;
	f = &s->files[s->n_files - 1];
	return inv_log_check_end(&f->last, f->src.name, ns);
}

int inv_set_cursor_seek(struct inv_set_cursor *c, const struct inv_log_set *s,
			uint32_t stream, struct inv_log_place *at,
			const struct inv_log_file **file)
{
	for (; c->file < s->n_files; c->file++) {
		*file = &s->files[c->file];
		if (!inv_log_cursor_seek(&c->in, *file, stream, at))
			return 0;
		memset(&c->in, 0, sizeof(c->in));
	}
	return INV_END;
}

int inv_set_cursor_anchors(struct inv_set_cursor *c,
			   const struct inv_log_set *s,
			   struct inv_log_place *at)
{
	for (; c->file < s->n_files; c->file++) {
		if (!inv_log_cursor_anchors(&c->in, &s->files[c->file], at))
			return 0;
		memset(&c->in, 0, sizeof(c->in));
	}
	return INV_END;
}

bool inv_set_anchors_next(void *set_anchors, struct inv_anchor *anchor)
{
	struct inv_set_anchors *a = set_anchors;
	struct inv_log_place at;

	while (!inv_entries_anchor(&a->entries, a->entry, anchor)) {
		a->entry = 0;
		a->entries.n = 0;
		if (inv_set_cursor_anchors(&a->cursor, a->set, &at))
			return false;
		inv_entries_open(&a->entries, a->unpacker, &at);
	}
	a->entry++;
	return true;
}
