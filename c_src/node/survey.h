/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_SURVEY_H
#define INV_NODE_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "node/conn.h"
#include "node/gather.h"
#include "node/name.h"

/* The survey of a node: data that the command asks for before it sends code to
 * the node. */
struct inv_survey {
	unsigned otp;	  /* release, such as 25 */
	char version[32]; /* version of erts, such as "13.1.5" */
	char arch[96];	  /* system_architecture: "x86_64-pc-linux-gnu" */
	char os[32];	  /* "linux" */
	unsigned bits;	  /* 32 or 64 */
	bool musl;	  /* the VM uses the C library musl */
	unsigned machine; /* e_machine of ELF; 0: unknown */
	/*
	 * The other nodes to which the surveyed node is connected, visible and
	 * hidden ones, except inviso commands.
	 */
	struct inv_node_names others;
};

#define INV_OTP_MIN 25

void inv_survey_ask(struct inv_ask *ask, struct inv_conn *c, int ms);
/* Decodes the answer. The caller releases out, even if the result is an
 * error. */
int inv_survey_got(const struct inv_ask *ask, struct inv_survey *out,
		   struct inv_err *err);
void inv_survey_release(struct inv_survey *s);

/*
 * Returns 0 if the command's code can run on the node, or INV_EINVAL with the
 * reason. If `tracer' is false, checks only the release: the command then sends
 * only Erlang modules, which do not depend on the machine.
 */
int inv_survey_check(const struct inv_survey *s, bool tracer,
		     struct inv_err *err);

#endif
