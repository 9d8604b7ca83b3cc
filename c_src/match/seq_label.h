/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_SEQ_LABEL_H
#define INV_MATCH_SEQ_LABEL_H

#include "match/parse.h"

/*
 * Finds labels of sequential traces that can crash the VM. If {set_seq_token,
 * label, X} sets a label that is not an immediate term (one word without a
 * pointer), the VM stores a pointer to the term where it should store a copy
 * (OTP 25 to 29). Later the VM crashes, hangs or uses a wrong label. Only atoms
 * and integers of less than 60 bits are safe. A variable is not safe, because
 * it can have any value.
 *
 * Returns the number of the first clause that sets an unsafe label, counted
 * from 1, or 0 if there is none.
 */
unsigned inv_seq_label_unsafe(const struct inv_spec *s);

#endif
