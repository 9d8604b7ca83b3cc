/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_SURVEY_H
#define INV_CLI_SURVEY_H

#include "base/err.h"
#include "flow/clocks.h"
#include "log/inputs.h"

/*
 * Reads all logs once, to compare the clocks of their nodes. `files' are the
 * arguments of the command. The nodes have the same numbers as in the merge.
 * Reports no errors, because the merge reports them. Returns 0 or INV_ENOMEM.
 * If a log can no longer be read, the survey ends.
 */
int inv_survey(struct inv_clocks *clocks, char **files, int n_files);

/*
 * Like inv_survey, for inputs that are open and from which nothing was read
 * yet.
 */
int inv_survey_inputs(struct inv_clocks *clocks, struct inv_inputs *inputs);

#endif
