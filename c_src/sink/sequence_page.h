/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SEQUENCE_PAGE_H
#define INV_SINK_SEQUENCE_PAGE_H

/*
 * The page of the format `sequence' is head, data and tail. The data are JSON
 * in a script element, and the script in the tail draws them. The script makes
 * all texts with textContent, so that nothing in the data is read as HTML. The
 * page loads nothing else, and its Content-Security-Policy forbids it.
 */
extern const char inv_sequence_head[];
extern const char inv_sequence_tail[];

#endif
