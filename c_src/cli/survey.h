/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SURVEY_H
#define INV_CLI_SURVEY_H

#include "base/err.h"
#include "flow/clocks.h"
#include "log/inputs.h"

/*
 * Reads all logs once, to compare the clocks of their nodes. `files' are the
 * arguments of the command; the numbers of the nodes are those of the merge.
 * Nothing is reported, because the merge reports it. Returns 0 or INV_ENOMEM; a
 * log that cannot be read any more ends the survey.
 */
int inv_survey(struct inv_clocks *clocks, char **files, int n_files);

/* The same for inputs that are open, and of which nothing was read. */
int inv_survey_inputs(struct inv_clocks *clocks, struct inv_inputs *inputs);

#endif
