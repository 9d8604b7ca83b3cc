/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_PROFILING_H
#define INV_FLOW_PROFILING_H

#include "flow/flow.h"

/* The part of the flow that adds calls and samples to the profile
 * (flow/paths.h). Only the flow uses this header. */

/*
 * Returns the frame of a call of mfa by the process p, below the frame of p's
 * innermost open call. Returns NULL if there is no memory for the frame.
 */
struct inv_paths_frame *inv_profiling_enter(struct inv_flow *f,
					    const struct inv_item *it,
					    struct inv_process *p,
					    const struct inv_mfa *mfa);

/* inv_profiling_sample adds the sample of a note INV_NOTE_SAMPLE to the
 * profile. inv_profiling_sampling reads a note INV_NOTE_SAMPLING. f->cursor is
 * at the terms of the note. A note with invalid terms is ignored. */
void inv_profiling_sample(struct inv_flow *f, const struct inv_item *it);
void inv_profiling_sampling(struct inv_flow *f, const struct inv_item *it);

/* Marks the frames of all open calls (inv_paths_mark). `arg' is the flow. */
void inv_profiling_mark(void *arg);

#endif
