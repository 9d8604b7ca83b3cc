/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_PACKET_H
#define INV_LOG_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/log.h"
#include "base/err.h"
#include "log/packet_max.h"
#include "log/scan.h"
#include "term/dict.h"

struct inv_packet_buf {
	uint8_t *data;
	size_t cap;
};

/*
 * The body of an EVENTS packet, verified and unpacked. One struct is used for
 * all packets of a stream and keeps its memory. A struct of zeros is empty.
 */
struct inv_packet {
	struct inv_dict dict;
	const uint8_t *events; /* in the place's body, or in buf */
	size_t len;
	/* private */
	struct inv_packet_buf buf;
};

/*
 * State for unpacking: a ZSTD_DCtx, a buffer for compressed bodies, and one for
 * totals and anchors. All streams of a log can share one unpacker.
 */
struct inv_unpacker;
struct inv_unpacker *inv_unpacker_new(void);
void inv_unpacker_free(struct inv_unpacker *u);

/*
 * Opens the body of the packet at `at'. Returns 0; INV_EDAMAGED if the body is
 * invalid, with the reason in *what; INV_ETRUNCATED if the file ends inside the
 * body; INV_EVERSION if the codec is unknown; or INV_ENOMEM.
 */
int inv_packet_open(struct inv_packet *p, struct inv_unpacker *u,
		    const struct inv_log_place *at, const char **what);
void inv_packet_release(struct inv_packet *p);

/* Returns true if the packet is long (abi/log.h): it has one event, and its body
 * is read only when this event is needed. */
static inline bool inv_packet_is_long(const struct inv_log_packet *h)
{
	return h->raw_len > INV_PACKET_RAW_MAX;
}

/* Releases a long packet, and the unpacker's memory for its compressed body. */
void inv_packet_release_long(struct inv_packet *p, struct inv_unpacker *u);

/*
 * The totals or anchors in a packet. The body must be valid: the survey in
 * log/file.h skips totals and anchors with damaged bodies. If the body cannot
 * be unpacked, there are no entries.
 */
struct inv_entries {
	const uint8_t *data; /* valid until the unpacker's next packet */
	uint32_t n;
	unsigned type; /* enum inv_log_type */
	size_t size;   /* bytes of each entry */
};
void inv_entries_open(struct inv_entries *e, struct inv_unpacker *u,
		      const struct inv_log_place *at);

/* Copies entry i to *t. Returns false if it does not exist or the packet is of
 * another kind. */
bool inv_entries_totals(const struct inv_entries *e, uint32_t i,
			struct inv_log_totals *t);
/*
 * Finds the totals of a stream. If several entries have the stream's number,
 * takes the one whose index is this number, or else the first one.
 */
bool inv_entries_of_stream(const struct inv_entries *e, uint32_t stream,
			   struct inv_log_totals *t);
bool inv_entries_anchor(const struct inv_entries *e, uint32_t i,
			struct inv_anchor *a);

#endif
