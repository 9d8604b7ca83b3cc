/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_CTF_STREAM_H
#define INV_SINK_CTF_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "log/item.h"

/*
 * Writes a stream file of the Common Trace Format (CTF 1.8), with the events of
 * one node. ctf_metadata.c describes its layout. Events are appended to a
 * packet in memory, and complete packets are appended to the file. The file is
 * open only while a packet is appended.
 */
#define INV_CTF_MAGIC 0xc1fc1fc1u
/* A packet is complete when it has at least this many bytes. Its last event can
 * make it larger. */
#define INV_CTF_PACKET ((size_t)64 << 10)
/* Longer strings are cut. */
#define INV_CTF_TERM ((size_t)64 << 10)
#define INV_CTF_NAME ((size_t)4 << 10)

struct inv_ctf_stream {
	struct inv_buf packet; /* callers append the fields of an event */
	/* private */
	const struct inv_node *node;
	const uint8_t *uuid;
	char *path;
	uint64_t begin_ns;
	uint64_t last_ns; /* time of the last event or loss */
	uint64_t lost;	  /* lost events of the whole stream */
	bool written;	  /* the file has a packet */
};

/* st must be all zero. Borrows node, and the 16 bytes of uuid. */
int inv_ctf_stream_init(struct inv_ctf_stream *st, const char *dir,
			const struct inv_node *node, const uint8_t *uuid);
void inv_ctf_stream_release(struct inv_ctf_stream *st);

/*
 * Begins an event of the class `id'. The caller appends its fields to
 * st->packet and calls inv_ctf_stream_end. To remove the event instead, the
 * caller passes the result of this function as `begin' to
 * inv_ctf_stream_cancel.
 */
size_t inv_ctf_stream_event(struct inv_ctf_stream *st, uint16_t id,
			    int64_t ts_ns);
void inv_ctf_stream_cancel(struct inv_ctf_stream *st, size_t begin);
int inv_ctf_stream_end(struct inv_ctf_stream *st, struct inv_err *err);
/* Counts n events that were lost at this time. */
int inv_ctf_stream_lose(struct inv_ctf_stream *st, int64_t ts_ns, uint64_t n,
			struct inv_err *err);
/* Writes the packet. */
int inv_ctf_stream_flush(struct inv_ctf_stream *st, struct inv_err *err);

/* Appends all bytes of b to a file, which is created if it does not exist. */
int inv_ctf_append(const char *path, const struct inv_buf *b,
		   struct inv_err *err);
/*
 * Appends a string, with a NUL. Control characters, and characters that a
 * terminal hides, are replaced by an escape such as \x{0}. Bytes that are not
 * UTF-8 are replaced by U+FFFD. After about `most' bytes the string is cut and
 * ends with "…". The empty string becomes "-", because babeltrace2 2.0.4
 * shows the value of another event for an empty string.
 */
void inv_ctf_text(struct inv_buf *b, const void *text, size_t len, size_t most);

/* Appends the metadata of a trace. */
void inv_ctf_metadata(struct inv_buf *b, const uint8_t *uuid);

/* The optional fields of a class of events, in this order. All classes also
 * have pid, name and payload. */
enum {
	INV_CTF_TAG = 1,
	INV_CTF_LABEL = 2,
	INV_CTF_FUNCTION = 4, /* module, function, arity */
	INV_CTF_EXTRA = 8,
	INV_CTF_RESULT = 16,
	INV_CTF_DURATION = 32,
};
/* Returns the set of optional fields that the events with this tag have. */
unsigned inv_ctf_fields(unsigned tag);

#endif
