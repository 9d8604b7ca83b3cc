/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_SURVEY_H
#define INV_NODE_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "node/conn.h"
#include "node/gather.h"
#include "node/name.h"

/*
 * What kind of node this is, asked before anything of ours is there.
 */
struct inv_survey {
	unsigned otp;	  /* 25 */
	char version[32]; /* of the emulator, "13.1.5" */
	char arch[96];	  /* system_architecture: "x86_64-pc-linux-gnu" */
	char os[32];	  /* "linux" */
	unsigned bits;	  /* 32, 64 */
	unsigned nif_major, nif_minor;
	bool musl;		      /* its libc */
	unsigned machine;	      /* e_machine of ELF; 0: not known */
	struct inv_node_names others; /* nodes that it is connected to,
					 visible or hidden, but no command
					 like this one */
};

#define INV_SURVEY_ASKS 8
#define INV_OTP_MIN 25

/* Sends the questions, INV_SURVEY_ASKS of them, all at once. */
void inv_survey_ask(struct inv_ask *asks, struct inv_conn *c, int ms);

/* When they are done: fills out, which is to be released. */
int inv_survey_got(const struct inv_ask *asks, struct inv_survey *out,
		   struct inv_err *err);
void inv_survey_release(struct inv_survey *s);

/*
 * Whether what we carry can run there, in words: INV_EINVAL.  With tracer
 * false only the modules are asked about, which run on every processor.
 */
int inv_survey_check(const struct inv_survey *s, bool tracer,
		     struct inv_err *err);

#endif
