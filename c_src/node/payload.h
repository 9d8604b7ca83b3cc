/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_PAYLOAD_H
#define INV_NODE_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * The code that the command sends to nodes. It is contained in the command's
 * executable (mk/payload.mk, tools/payload.escript). So the command needs no
 * other files, and code and command always have the same version.
 *
 * All data are constant.
 */
struct inv_blob {
	const uint8_t *data;
	size_t len;
};

/*
 * Returns a hash of the modules and files that the program contains, in 32
 * hexadecimal digits.
 */
const char *inv_payload_build(void);

/*
 * These functions return the arguments of a call of erl_eval:expr/5 on the
 * node, in the external format without a version byte. inv_payload_survey is
 * for the survey (abi/control.h, section 1). The arguments for loading the code
 * (section 2) are the head, a term Args from the caller, and the tail.
 */
struct inv_blob inv_payload_survey(void);
struct inv_blob inv_payload_boot_head(void);
struct inv_blob inv_payload_boot_tail(void);

/*
 * The name that the library has on a node to which the command has sent it. The
 * library is built under the name inviso_pushed.so.
 */
#define INV_PAYLOAD_NIF "inviso_tracer.so"
#define INV_PAYLOAD_SPOOL "inviso_spool"

/* Returns the file with this name, one of the two above.  In the result, `data'
 * is NULL if no file has this name. */
struct inv_blob inv_payload_file(const char *name);

/*
 * These functions return for which processor the files are built: e_machine of
 * ELF, and 32 or 64 bits.
 */
unsigned inv_payload_machine(void);
unsigned inv_payload_bits(void);

#endif
