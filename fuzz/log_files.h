/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FUZZ_LOG_FILES_H
#define INV_FUZZ_LOG_FILES_H

/*
 * Opens an input as several log files. Each file is a u16 length (little-endian) and
 * bytes; the last file has the remaining bytes.
 */
#include "check.h"
#include "log/inputs.h"
#include "log_repair.h"

#define FILES 4

static inline void add_file(struct inv_inputs *in, uint8_t *p, size_t n,
			    unsigned i)
{
	char name[] = "w0.log";
	struct inv_source src;

	name[1] = (char)('0' + i);
	CHECK(!inv_source_memory(&src, name, p, n));
	(void)inv_inputs_add_source(in, &src, NULL, NULL);
}

/* If `corrected' is true, the checksums of the files are corrected first. */
static inline void add_files(struct inv_inputs *in, uint8_t *p, size_t size,
			     bool corrected)
{
	for (unsigned i = 0; i < FILES && size >= 2; i++) {
		size_t n = p[0] | p[1] << 8;

		p += 2;
		size -= 2;
		if (n > size || i == FILES - 1)
			n = size;
		if (corrected)
			repair(p, n);
		add_file(in, p, n, i);
		p += n;
		size -= n;
	}
}

#endif
