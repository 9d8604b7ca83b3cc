/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILE_H
#define INV_LOG_FILE_H

#include "base/err.h"
#include "log/about.h"
#include "log/notice.h"
#include "log/scan.h"
#include "log/source.h"

/*
 * One file of a log (abi/log.h): its head, and where its packets are.
 *
 * Opening the file surveys all of it once: every packet head is verified, and
 * the bytes between valid packets are reported. The survey keeps 8 bytes for
 * each packet. After that any number of cursors find the packets of their
 * streams, and read only the heads of the packets that they return.
 *
 * Bodies of packets are not read here (log/packet.h), except those of totals,
 * and those that the scan verifies.
 */
struct inv_log_file {
	struct inv_source src; /* owned */
	struct inv_log_about about;
	/* results of the survey */
	uint64_t *index; /* packets of streams, anchors and totals, in the order
			    of the file; see file.c */
	size_t n_index;
	uint32_t n_streams; /* highest number seen, plus one */
	uint64_t first_ns;  /* earliest begin_ns; UINT64_MAX: no events */
	struct inv_log_packet last; /* head of the last packet; all zero:
				       none */
	uint64_t packed_totals; /* size that all compressed TOTALS packets have
				   when they are unpacked */
	uint64_t last_totals;	/* offset of the last TOTALS packet */
	bool lossy; /* a packet says that events were lost, or is damaged */
	/* set by inv_log_file_share; true: streams skip all TOTALS packets
	 * except the last */
	bool last_totals_only;
};

/* Sets *is to true if the source starts like a log. Returns 0 or INV_ENOMEM. */
int inv_log_is(const struct inv_source *src, bool *is);

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
	size_t next; /* place in the file's `index' of the next packet */
};

/*
 * Finds the next packet that is a TOTALS packet or an EVENTS packet of the
 * stream. If `stream' is one of INV_LOG_*_ONLY, finds the next packet of this
 * type instead. Sets *at to the packet, moves the cursor after the packet, and
 * returns 0. Returns INV_END if there is no such packet.
 */
int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at);

#endif
