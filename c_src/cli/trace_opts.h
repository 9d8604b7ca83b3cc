/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_TRACE_OPTS_H
#define INV_CLI_TRACE_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/redact_opts.h"
#include "match/records.h"
#include "node/session.h"

/*
 * The options of `trace' and `record' for what to trace and when to stop, as an
 * argp child. Its input is a struct inv_trace_opts. Before parsing it must be
 * all zero, except for defaults that the command sets.
 *
 * Texts point into argv.
 */
struct inv_trace_opts {
	/* SPECs and PROCS: arrays of argc entries each, from
	 * inv_trace_opts_init. */
	const char **specs;
	unsigned n_specs;
	const char **procs;
	unsigned n_procs;
	bool spawned;
	bool linked;
	bool dry_run;
	bool yes;
	const char *filter;	    /* NULL: no filter */
	struct inv_records records; /* the records that the filter names */
	char *made;		    /* the filter, if this struct owns its
				       memory; otherwise NULL */
	/* Values of --redact, argc entries. */
	const char **redact_args;
	unsigned n_redact_args;
	struct inv_redact_opts redact; /* the rules in redact_args */
	const char *remote_dir;	       /* NULL: the node chooses */
	/* Limits of each node's session; 0: no limit. */
	uint64_t events;
	uint64_t ms;
	uint64_t rate; /* limit of events a second */
	uint64_t bytes;
	bool ms_given;
	bool no_args;	   /* record no arguments, results and messages */
	uint64_t max_term; /* bytes; 0 in max_term, depth and buffer: the node's
			      default */
	uint64_t depth;
	uint64_t buffer; /* bytes */
	/* Limits that protect the node. 0: off; INV_UNSET: the node's
	 * default. */
	int64_t run_queue;
	int64_t memory_percent;
	int64_t open_calls;
};

extern const struct argp inv_trace_argp;

/* Like inv_trace_argp, for `seq': without --filter. */
extern const struct argp inv_trace_unfiltered_argp;

/*
 * Like inv_trace_argp, for `count': without the options about recorded events.
 */
extern const struct argp inv_count_argp;

/* Like inv_count_argp, for `flame'. */
extern const struct argp inv_flame_argp;

/* Returns false if there is no memory. */
bool inv_trace_opts_init(struct inv_trace_opts *o, int argc);
void inv_trace_opts_release(struct inv_trace_opts *o);

/* Initializes out with these options; out borrows their texts. */
void inv_trace_opts_session(const struct inv_trace_opts *o,
			    struct inv_session_opts *out);

/* Returns true if at least one SPEC contains "->" or "::" outside of quotes: it
 * can have actions, for example count or time. */
bool inv_trace_opts_has_actions(const struct inv_trace_opts *o);

#endif
