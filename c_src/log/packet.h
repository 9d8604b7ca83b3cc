/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_PACKET_H
#define INV_LOG_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/log.h"
#include "base/err.h"
#include "log/scan.h"
#include "term/dict.h"

/* No body is larger when it is unpacked.  A ring's packet has 512 KiB at most;
 * the rest is for definitions that are repeated. */
#define INV_PACKET_RAW_MAX (1024u * 1024)
/* Nor as stored: who packs what cannot be packed may gain a little. */
#define INV_PACKET_BODY_MAX (INV_PACKET_RAW_MAX + 64u * 1024)

/*
 * The body of an EVENTS packet, verified and unpacked: one is used for packet
 * after packet of a stream and keeps its memory.  All zero is an empty one.
 */
struct inv_packet {
	struct inv_dict dict;
	const uint8_t *events; /* in the source, or in buf */
	size_t len;
	/* private */
	uint8_t *buf;
	size_t cap;
};

/* What unpacking needs: a ZSTD_DCtx, and a buffer for totals and anchors.  One
 * serves all streams of a log. */
struct inv_unpacker;
struct inv_unpacker *inv_unpacker_new(void);
void inv_unpacker_free(struct inv_unpacker *u);

/*
 * Takes the body of at.  INV_EDAMAGED and, in *what, why, when it makes no
 * sense; INV_ETRUNCATED when the file ends within it; INV_EVERSION when its
 * codec is unknown; INV_ENOMEM.
 */
int inv_packet_open(struct inv_packet *p, struct inv_unpacker *u,
		    const struct inv_log_place *at, const char **what);
void inv_packet_release(struct inv_packet *p);

/*
 * The totals or anchors of a packet whose body is sound (the survey of
 * log/file.h takes no others).  A body that cannot be unpacked has none.
 */
struct inv_entries {
	const uint8_t *data; /* good until the unpacker's next packet */
	uint32_t n;
	size_t size; /* of each */
};
void inv_entries_open(struct inv_entries *e, struct inv_unpacker *u,
		      const struct inv_log_place *at);

/* Entry i, if there is one and it is of that kind. */
bool inv_entries_totals(const struct inv_entries *e, uint32_t i,
			struct inv_log_totals *t);
bool inv_entries_anchor(const struct inv_entries *e, uint32_t i,
			struct inv_anchor *a);

#endif
