/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_TRACE_OPTS_H
#define INV_CLI_TRACE_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "node/session.h"

/*
 * What to trace and when to stop: the options that `trace' and `record' have in
 * common, as an argp child.  Its input is a struct inv_trace_opts, all zero
 * but for the defaults that the command puts there before.
 *
 * Texts are borrowed of argv.
 */
struct inv_trace_opts {
	/* Arguments; room for argc of each, made by inv_trace_opts_init. */
	const char **specs;
	unsigned n_specs;
	const char **procs;
	unsigned n_procs;
	bool spawned;
	bool linked;
	bool dry_run;
	const char *filter;	/* NULL: none */
	const char *remote_dir; /* NULL: the node's choice */
	/* Limits of a node's session; 0: none. */
	uint64_t events;
	uint64_t ms;
	uint64_t rate; /* events a second */
	uint64_t bytes;
	bool ms_given;
	uint64_t max_term; /* bytes; 0: the node's default, as all below */
	uint64_t depth;
	uint64_t buffer; /* bytes */
	/* Protections: 0 is off, -1 the node's default. */
	int64_t run_queue;
	int64_t memory_percent;
};

extern const struct argp inv_trace_argp;

/* False: no memory. */
bool inv_trace_opts_init(struct inv_trace_opts *o, int argc);
void inv_trace_opts_release(struct inv_trace_opts *o);

/* What they say, in the words of a session; out borrows of o. */
void inv_trace_opts_session(const struct inv_trace_opts *o,
			    struct inv_session_opts *out);

/* Whether a SPEC may have an action that counts. */
bool inv_trace_opts_count(const struct inv_trace_opts *o);

#endif
