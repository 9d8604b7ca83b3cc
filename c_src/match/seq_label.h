/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_SEQ_LABEL_H
#define INV_MATCH_SEQ_LABEL_H

#include "match/parse.h"

/*
 * Finds labels with which the VM is not safe. If {set_seq_token, label, X}
 * sets a label that needs memory, the VM stores a pointer and does not copy the
 * term (OTP 25 to 29): it crashes, hangs or has a wrong label later. Only atoms
 * and integers of less than 60 bits are safe. A variable is not safe, because
 * its value is not known beforehand.
 *
 * Returns the number of the first clause, counted from 1, with such a label, or
 * 0.
 */
unsigned inv_seq_label_unsafe(const struct inv_spec *s);

#endif
