/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_RECORD_FILES_H
#define INV_CLI_RECORD_FILES_H

#include "match/records.h"

/*
 * Adds the records that a file defines: a header file (.hrl), a module (.erl),
 * or a .beam file with debug information. Returns 0; INV_EIO, INV_EINVAL or
 * INV_EFORMAT, with the name of the file and the reason; INV_ENOMEM.
 */
int inv_record_file_load(struct inv_records *rs, const char *path,
			 struct inv_err *err);

#endif
