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
 * The body of an EVENTS packet, verified and decompressed. A stream uses one
 * such struct, and its memory, for all its packets. A struct of zeros is empty.
 */
struct inv_packet {
	struct inv_dict dict;
	const uint8_t *events; /* points into the `body' of the packet's struct
				  inv_log_place, or into buf */
	size_t len;
	/* private */
	struct inv_packet_buf buf;
};

/*
 * State for decompression: a ZSTD_DCtx, a buffer for compressed bodies, and a
 * buffer for the bodies of packets of the types TOTALS and ANCHORS. All streams
 * of a log can share one unpacker.
 */
struct inv_unpacker;
struct inv_unpacker *inv_unpacker_new(void);
void inv_unpacker_free(struct inv_unpacker *u);

/*
 * Reads, verifies and decompresses the body of the packet at `at'. Returns 0;
 * INV_EDAMAGED if the body is invalid, with the reason in *what; INV_ETRUNCATED
 * if the file ends inside the body; INV_EVERSION if the codec is unknown; or
 * INV_ENOMEM.
 */
int inv_packet_open(struct inv_packet *p, struct inv_unpacker *u,
		    const struct inv_log_place *at, const char **what);
void inv_packet_release(struct inv_packet *p);

/* Returns true if the packet is long: its only event is larger than a packet of
 * several events may be (abi/log.h). The body of a long packet is read only
 * when the event is needed. */
static inline bool inv_packet_is_long(const struct inv_log_packet *h)
{
	return h->raw_len > INV_PACKET_RAW_MAX;
}

/* Releases a long packet, and the unpacker's memory for its compressed body. */
void inv_packet_release_long(struct inv_packet *p, struct inv_unpacker *u);

/*
 * The totals or anchors in a packet. The checksum of the packet's body must be
 * right. (When log/file.h opens a file, it skips TOTALS and ANCHORS packets
 * whose checksum is wrong.) If the body cannot be decompressed, there are no
 * entries.
 */
struct inv_entries {
	const uint8_t *data; /* valid until the unpacker's next packet */
	uint32_t n;
	unsigned type; /* enum inv_log_type */
	size_t size;   /* bytes of each entry */
};
void inv_entries_open(struct inv_entries *e, struct inv_unpacker *u,
		      const struct inv_log_place *at);

/* Copies entry i to *t. Returns false if entry i does not exist, or if the
 * packet is not a TOTALS packet. */
bool inv_entries_totals(const struct inv_entries *e, uint32_t i,
			struct inv_log_totals *t);
/*
 * Copies the totals of a stream to *t. Returns false if no entry is for this
 * stream. If several entries are for this stream, takes the one whose index is
 * the stream's number. If none of them has this index, takes the first one.
 */
bool inv_entries_of_stream(const struct inv_entries *e, uint32_t stream,
			   struct inv_log_totals *t);
/* Copies entry i to *a. Returns false if entry i does not exist, or if the
 * packet is not an ANCHORS packet. */
bool inv_entries_anchor(const struct inv_entries *e, uint32_t i,
			struct inv_anchor *a);

#endif
