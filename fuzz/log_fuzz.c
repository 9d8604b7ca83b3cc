/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the input as a log of one file.
 *
 *	byte 0    bit 0: the checksums are corrected first
 *	          bit 1: the log is in a file, not in memory
 *	          bit 2: only a range of time is read
 *	the rest  the log
 *
 * The target checks that each stream returns its items in the order of time,
 * that the bytes of an event are in its packet, and that reported damage is
 * within the file. Reading must end, with or without damage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "log/inputs.h"
#include "log/merge.h"
#include "log_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t file_size;

static void notify(void *arg, const struct inv_notice *n)
{
	(void)arg;
	CHECK(n->file && n->text);
	if (n->kind == INV_NOTICE_DAMAGE)
		CHECK(n->len > 0 && n->off <= file_size);
}

static void walk(const struct inv_event *ev, struct inv_cursor *c)
{
	struct inv_token tok;

	if (ev->bare || inv_event_tracee(ev, c, &tok) ||
	    inv_event_payload(ev, c))
		return;
	while (!inv_cursor_next(c, &tok))
		;
}

static void drain(struct inv_inputs *in, struct inv_cursor *c, bool ranged)
{
	struct inv_item *item;
	struct inv_merge m;
	uint64_t items = 0;
	int64_t first;

	CHECK(!inv_merge_init(&m, in->feeds, in->n_feeds));
	first = inv_merge_first(&m);
	if (ranged && first < INT64_MAX)
		inv_merge_limit(&m, first + 1, INT64_MAX - (first & 0xff));
	while (!inv_merge_next(&m, &item)) {
		CHECK(item->node && item->node->name);
		if (item->kind == INV_ITEM_EVENT)
			walk(&item->ev, c);
		else if (item->kind == INV_ITEM_NOTE)
			CHECK(item->ev.note);
		else
			CHECK(item->lost.n &&
			      item->lost.reason < INV_LOST_COUNT);
		/* An item takes at least one byte of a packet, and a packet has
		 * at most 1 MiB. So this is the largest possible number of
		 * items. */
		CHECK(++items <= (file_size / sizeof(struct inv_log_packet) +
				  1) * (1u << 20));
	}
	inv_merge_release(&m);
}

/* Makes a file with these bytes, and opens it as the source. Returns the file's
 * descriptor. */
static int file_of(struct inv_source *src, const uint8_t *p, size_t n)
{
	int fd = memfd_create("log", MFD_CLOEXEC);
	char path[64];

	CHECK(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(!inv_source_open(src, path, NULL));
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inv_notices ns = { .notify = notify };
	struct inv_inputs in;
	struct inv_source src;
	struct inv_cursor *c;
	uint8_t *copy;
	int fd = -1;

	if (size < 2)
		return 0;
	copy = malloc(size - 1);
	c = malloc(sizeof(*c));
	CHECK(copy && c);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		repair(copy, size - 1);
	file_size = size - 1;
	inv_inputs_init(&in, &ns);
	if (data[0] & 2)
		fd = file_of(&src, copy, size - 1);
	else
		CHECK(!inv_source_memory(&src, "x", copy, size - 1));
	if (!inv_inputs_add_source(&in, &src, NULL, NULL) &&
	    !inv_inputs_open(&in, NULL))
		drain(&in, c, data[0] & 4);
	inv_inputs_release(&in);
	if (fd >= 0)
		close(fd);
	free(copy);
	free(c);
	return 0;
}
