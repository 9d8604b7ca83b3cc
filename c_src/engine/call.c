/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call.h"

#include "engine/frames.h"
#include "engine/session.h"
#include "engine/tracee.h"

/* The VM has put a frame on the process' stack if any session wants the end. */
void inv_call_begin(const struct inv_message *m, struct inv_verdict *v,
		    uint32_t mask)
{
	struct inv_tracee *t = inv_tracee_find(m->tracee);

	if (t && (v->frame.returns | v->frame.exceptions) != 0) {
		v->frame.returns &= mask;
		v->frame.exceptions &= mask;
		v->frame.birth = inv_sessions_birth();
		(void)inv_frames_push(inv_tracee_frames(t), &v->frame);
	}
	inv_verdict_send(m, v, mask & ~m->profile->sessions[INV_FLAG_SILENT]);
}

void inv_call_end(const struct inv_message *m, uint32_t mask)
{
	struct inv_tracee *t = inv_tracee_find(m->tracee);
	struct inv_frame frame;
	uint32_t left;

	if (!t || !inv_frames_pop(inv_tracee_frames(t), &frame))
		return;
	mask &= m->tag->kind == INV_KIND_RETURN ? frame.returns :
						  frame.exceptions;
	mask &= ~m->profile->sessions[INV_FLAG_SILENT];
	for (left = mask; left != 0; left &= left - 1) {
		uint32_t slot = (uint32_t)__builtin_ctz(left);

		/* Its slot was another's when the function was called. */
		if (inv_session_at(slot)->birth <= frame.birth)
			inv_message_send(m, slot, 0);
	}
}
