/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_PAYLOAD_H
#define INV_NODE_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the command carries for the nodes that it attaches to, made when it is
 * built (mk/payload.mk, tools/payload.escript): nothing has to be found on
 * disk, and what is pushed always fits the command.
 *
 * All of it is constant and lives as long as the program.
 */
struct inv_blob {
	const uint8_t *data;
	size_t len;
};

/* Equal for equal modules and files, 32 hexadecimal digits. */
const char *inv_payload_build(void);

/*
 * The expressions of abi/control.h, section 2, for erl_eval:exprs/3, in the
 * external format without a version byte: the term Args goes between the two.
 */
struct inv_blob inv_payload_boot_head(void);
struct inv_blob inv_payload_boot_tail(void);

#define INV_PAYLOAD_NIF "inviso_tracer.so"
#define INV_PAYLOAD_SPOOL "inviso_spool"
/* Wanted where the VM has no trace sessions. */
#define INV_PAYLOAD_ENGINE "inviso_engine.so"

/* One of the files above; data is NULL for another name. */
struct inv_blob inv_payload_file(const char *name);

/* What processor the files are for: e_machine of ELF, and 32 or 64. */
unsigned inv_payload_machine(void);
unsigned inv_payload_bits(void);

#endif
