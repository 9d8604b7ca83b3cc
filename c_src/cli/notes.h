/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_NOTES_H
#define INV_CLI_NOTES_H

#include "cli/members.h"

/*
 * Reports new notes of the sessions. Does nothing until all sessions have
 * reported their numbers of matches. A note that several nodes have is reported
 * once: "a@h, b@h: TEXT".
 */
void inv_notes_tell(struct inv_members *ms);

#endif
