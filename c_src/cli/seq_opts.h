/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SEQ_OPTS_H
#define INV_CLI_SEQ_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/trace_opts.h"
#include "node/session.h"

/*
 * The options of `seq' and `record --seq' for requests of sequential traces, as
 * an argp child. Its input is a struct inv_seq_opts, all zero except for
 * defaults that the command sets. Texts point into argv.
 */
struct inv_seq_opts {
	uint64_t requests;  /* how many requests may begin; 0: no limit */
	uint64_t one_in;    /* --sample: of this many events that could begin a
			       request, one does; 0 means 1 */
	char *label;	    /* variables of the SPECs whose values name
			       requests, separated by commas; NULL: none */
	const char **calls; /* an array of argc entries */
	unsigned n_calls;
	int64_t raw_label; /* the label of tokens; INV_UNSET: inviso chooses
			    * one */
	bool reset;	   /* remove all tokens at the end */
	bool any;	   /* one of these options was given */
};

/* The first and the last of the labels that inviso chooses. C nodes can send
 * labels of at most 28 bits; inviso chooses among the highest of these. */
#define INV_SEQ_LABEL_FIRST 0x7000000
#define INV_SEQ_LABEL_LAST 0x7ffffff

extern const struct argp inv_seq_argp;

/* Returns false if there is no memory. */
bool inv_seq_opts_init(struct inv_seq_opts *o, int argc);
void inv_seq_opts_release(struct inv_seq_opts *o);

/* Refuses options in `what' that cannot be combined with requests. */
void inv_seq_opts_check(const struct inv_trace_opts *what,
			struct argp_state *state);

/* Chooses the label, and fills in *out, whose texts belong to o. */
void inv_seq_opts_session(struct inv_seq_opts *o, struct inv_session_seq *out);

#endif
