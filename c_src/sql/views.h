/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SQL_VIEWS_H
#define INV_SQL_VIEWS_H

/*
 * The views that answer questions, in the order in which they are listed. They
 * use the tables that inviso-tables(5) describes.
 */
struct inv_view_def {
	const char *name;
	const char *answers; /* one line */
	const char *select;
};

/* The entry with the name NULL ends the list. */
extern const struct inv_view_def inv_view_defs[];

#endif
