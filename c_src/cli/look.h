/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_LOOK_H
#define INV_CLI_LOOK_H

#include <argp.h>
#include <stdbool.h>

#include "match/records.h"
#include "sink/sink.h"

/*
 * The options for how the text of events looks, which trace and merge have in
 * common: --time, --indent, --width, --wrap and others. The input of the argp
 * parser is a struct inv_look.
 */
struct inv_look {
	struct inv_sink_opts *opts; /* set by the caller */
	bool has_width;		    /* --width was given */
	struct inv_fields fields;   /* private */
};

void inv_look_release(struct inv_look *look);

/* Makes the output show the names of the fields of these records, which the
 * user has given. Returns 0 or INV_ENOMEM. */
int inv_look_records(struct inv_look *look, const struct inv_records *rs);

extern const struct argp inv_look_argp;

/* For output on a terminal: returns true if lines are to be cut or wrapped at
 * the terminal's width. */
bool inv_look_fits(const struct inv_look *look);

#endif
