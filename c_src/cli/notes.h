/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_NOTES_H
#define INV_CLI_NOTES_H

#include "cli/members.h"

/*
 * Says what the sessions note that is not said yet, when all have said what
 * they match; what several nodes note is said once: "a@h, b@h: TEXT".
 */
void inv_notes_tell(struct inv_members *ms);

#endif
