/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILE_H
#define INV_LOG_FILE_H

#include "base/err.h"
#include "log/about.h"
#include "log/notice.h"
#include "log/scan.h"
#include "log/source.h"

/*
 * One file of a log (abi/log.h): its head, and the heads of its packets.
 *
 * Opening the file surveys all of it once: every packet head is verified, and
 * the bytes between valid packets are stored as gaps and reported. After that
 * any number of cursors step from head to head, and verify only the packets
 * that they return. So memory use depends on the damage, not on the number of
 * packets.
 *
 * Bodies of packets are not decoded here (log/packet.h).
 */
struct inv_log_gap {
	uint64_t off;
	uint64_t len;
};

struct inv_log_file {
	struct inv_source src; /* owned */
	struct inv_log_about about;
	struct inv_log_gap *gaps;
	size_t n_gaps;
	/* results of the survey */
	uint64_t n_packets;
	uint64_t n_events;
	uint32_t n_streams; /* highest number seen, plus one */
	uint64_t first_ns;  /* earliest begin_ns; UINT64_MAX: no events */
	struct inv_log_packet last; /* head of the last packet; all zero:
				       none */
	uint64_t packed_totals; /* size that all compressed TOTALS packets have
				   when they are unpacked */
	uint64_t last_totals;	/* offset of the last TOTALS packet */
	/* set by inv_log_file_share */
	bool last_totals_only;
};

/* Returns true if the bytes start like a log. */
bool inv_log_is(const struct inv_source *src);

/* Opens a file. *f owns src from now on, also on failure. Returns INV_EFORMAT
 * if the file is not a log. */
int inv_log_file_open(struct inv_log_file *f, struct inv_source *src,
		      struct inv_notices *ns, struct inv_err *err);
void inv_log_file_close(struct inv_log_file *f);

/*
 * Call it before reading `n_streams' streams from the file. Each stream has its
 * own cursor, and each cursor unpacks all TOTALS packets. A small malicious
 * file could make this take very long. So if the cursors would unpack too many
 * bytes, they skip all TOTALS packets except the last, with a notice. No loss
 * is missed, because totals only increase, but losses are reported later.
 */
void inv_log_file_share(struct inv_log_file *f, uint32_t n_streams,
			struct inv_notices *ns);

/* A position among the packets of a file. A struct of zeros is before the first
 * packet. */
struct inv_log_cursor {
	uint64_t off;
	size_t gap; /* index of the next gap at or after off */
};

/*
 * Finds the next packet that is a TOTALS packet or an EVENTS packet of the
 * stream; if `stream' is INV_LOG_ANCHORS_ONLY, the next ANCHORS packet. Sets
 * *at to the packet, moves the cursor after the packet and returns 0, or
 * returns INV_END if there is none. Reads only a few bytes of the packets that
 * it skips.
 */
int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at);

#endif
