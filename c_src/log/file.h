/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILE_H
#define INV_LOG_FILE_H

#include "base/err.h"
#include "log/about.h"
#include "log/notice.h"
#include "log/scan.h"
#include "log/source.h"

/*
 * One file of a log (abi/log.h): its head, and the places of its packets.
 *
 * When a file is opened, a first pass, the survey, reads the whole file. It
 * verifies the head of every packet, and reports bytes that belong to no valid
 * packet. It makes an index with 8 bytes for each packet. With the index, a
 * cursor finds the packets of its stream; it reads only the heads of the
 * packets that it returns. Many cursors can use a file.
 *
 * The survey reads the bodies of TOTALS packets, and the bodies that the scan
 * (log/scan.h) must verify. log/packet.h reads all other bodies.
 */
struct inv_log_file {
	struct inv_source src; /* owned */
	struct inv_log_about about;
	/* results of the survey */
	uint64_t *index; /* an entry for each packet of a stream, of anchors or
			    of totals, in the order of the file; for the bits
			    of an entry see file.c */
	size_t n_index;
	uint32_t n_streams; /* highest stream number seen, plus one */
	uint64_t first_ns;  /* earliest begin_ns; UINT64_MAX: no events */
	struct inv_log_packet last; /* head of the last packet; all zero:
				       none */
	uint64_t packed_totals; /* how many bytes all compressed TOTALS packets
				   have after decompression */
	uint64_t last_totals;	/* offset of the last TOTALS packet */
	bool lossy;		/* a packet counts lost events, or is damaged */
	/* Cursors skip all TOTALS packets except the last. Set by
	 * inv_log_file_share. */
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
 * own cursor and decompresses all TOTALS packets, which a small malicious file
 * could make very slow. So if the streams would decompress too many bytes, the
 * cursors skip all TOTALS packets except the last, and a notice says so. No
 * loss is missed, because totals only increase, but losses are reported later.
 */
void inv_log_file_share(struct inv_log_file *f, uint32_t n_streams,
			struct inv_notices *ns);

/* A position among the packets of a file. A struct of zeros is before the first
 * packet. */
struct inv_log_cursor {
	size_t next; /* the next packet, as an index in the file's `index' */
};

/*
 * Finds the next packet for a stream: a TOTALS packet, or an EVENTS packet of
 * this stream. But if `stream' is one of INV_LOG_*_ONLY (log/scan.h), finds
 * only packets of that type. Sets *at to the packet, moves the cursor after the
 * packet, and returns 0. Returns INV_END if there is no such packet.
 */
int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at);

#endif
