/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_MERGE_OPTS_H
#define INV_CLI_MERGE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/filter_opts.h"
#include "cli/look.h"
#include "cli/pick.h"
#include "cli/redact_event.h"
#include "cli/request_opts.h"
#include "flow/paths.h"
#include "sink/sink.h"

enum inv_merge_summary {
	INV_MERGE_SUMMARY_TEXT,
	INV_MERGE_SUMMARY_JSON,
	INV_MERGE_SUMMARY_NONE,
};

/* The options and arguments of inviso merge. */
struct inv_merge_opts {
	const char *program; /* the command's name, for messages */
	const struct inv_sink_ops *format;
	struct inv_sink_opts sink;
	struct inv_filter_opts wanted;
	struct inv_pick pick;
	struct inv_request_opts requests;
	bool by_request; /* the output shows requests instead of events */
	struct inv_redact_events *redact; /* NULL: nothing is redacted */
	const char *output;		  /* NULL: standard output */
	enum inv_paths_by profile_by;
	enum inv_merge_summary summary;
	bool quiet;
	bool by_time;		 /* --order time */
	bool by_cause;		 /* --order cause */
	uint64_t request_memory; /* 0: the default */
	bool paced;		 /* flow control on standard output; see
				    sink/output.h */
	bool want_totals;
	char **files; /* the LOG arguments */
	int n_files;
	/* private */
	struct inv_look look;
	const char **redact_texts; /* values of --redact */
	unsigned n_redact_texts;
};

/* Sets the defaults, and allocates memory for argc arguments. Returns 0, or the
 * exit status after an error message. Release *o in both cases. */
int inv_merge_opts_init(struct inv_merge_opts *o, const char *program,
			int argc);

/* Parsers of commands that read LOGs call this function when all options are
 * known: it applies --records, which can come after --redact, and makes times
 * absolute. If a value is invalid, it ends the program. */
struct argp_state;
void inv_merge_opts_end(struct inv_merge_opts *o,
			const struct argp_state *state);

/*
 * Reads the command line. Returns 0, or the exit status after an error
 * message. Release *o in both cases.
 */
int inv_merge_opts_parse(struct inv_merge_opts *o, int argc, char **argv);
void inv_merge_opts_release(struct inv_merge_opts *o);

#endif
