/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_UNITS_H
#define INV_CLI_UNITS_H

#include <stdint.h>

#include "base/buf.h"

/*
 * Converts numbers with units to and from text. A number may have decimals if a
 * unit follows. The parsers return INV_EINVAL if the text has another form or
 * the number is too large.
 */

/* Parses "500ms", "15s", "2m", "1.5h", "1d"; without a unit, seconds. */
int inv_units_ms(const char *text, uint64_t *ms);
/* Like inv_units_ms, but the result is in ns, and "100us" is also valid. */
int inv_units_ns(const char *text, uint64_t *ns);
/* Parses "4096", "64k", "256MiB", "1.5G": powers of 1024. */
int inv_units_bytes(const char *text, uint64_t *bytes);
/* Parses "100", "10k", "2M": powers of 1000. */
int inv_units_count(const char *text, uint64_t *n);

/* For error messages: the expected form. */
#define INV_UNITS_MS_HELP "a time, such as 500ms, 15s, 2m or 1h"
#define INV_UNITS_NS_HELP "a time, such as 500us, 50ms or 2s"
#define INV_UNITS_BYTES_HELP "a size, such as 4096, 64k, 256M or 1G"
#define INV_UNITS_COUNT_HELP "a number, such as 100, 10k or 2M"

/* Appends a duration: "15 s", "1.5 s", "2 min", "1 h 5 min". */
void inv_units_put_ms(struct inv_buf *b, uint64_t ms);
/* Appends a size: "17 B", "4.2 KiB", "256 MiB". */
void inv_units_put_bytes(struct inv_buf *b, uint64_t bytes);

#endif
