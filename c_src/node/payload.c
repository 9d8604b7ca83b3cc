/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "node/payload.h"

/* Symbols of payload_data.S. */
#define CARRIED(name)                               \
	extern const uint8_t inv__payload_##name[]; \
	extern const uint8_t inv__payload_##name##_end[]

CARRIED(build);
CARRIED(survey);
CARRIED(boot_head);
CARRIED(boot_tail);
CARRIED(nif);
CARRIED(spool);

#define BLOB(name)                   \
	((struct inv_blob){          \
		inv__payload_##name, \
		(size_t)(inv__payload_##name##_end - inv__payload_##name) })

const char *inv_payload_build(void)
{
	return (const char *)inv__payload_build;
}

struct inv_blob inv_payload_survey(void)
{
	return BLOB(survey);
}

struct inv_blob inv_payload_boot_head(void)
{
	return BLOB(boot_head);
}

struct inv_blob inv_payload_boot_tail(void)
{
	return BLOB(boot_tail);
}

struct inv_blob inv_payload_file(const char *name)
{
	if (!strcmp(name, INV_PAYLOAD_NIF))
		return BLOB(nif);
	if (!strcmp(name, INV_PAYLOAD_SPOOL))
		return BLOB(spool);
	return (struct inv_blob){ NULL, 0 };
}

/*
 * Reads e_machine from a file's ELF header. The headers for 32 and 64 bits are
 * the same up to this field. The files have the byte order of this command,
 * because they are built for the same processor.
 */
unsigned inv_payload_machine(void)
{
	uint16_t machine;

	if (BLOB(nif).len < sizeof(Elf64_Ehdr))
		return 0; /* this command was built without the files
			     (mk/payload.mk) */
	memcpy(&machine, inv__payload_nif + offsetof(Elf64_Ehdr, e_machine),
	       sizeof(machine));
	return machine;
}

unsigned inv_payload_bits(void)
{
	if (BLOB(nif).len < sizeof(Elf64_Ehdr))
		return 0;
	return inv__payload_nif[EI_CLASS] == ELFCLASS64 ? 64 : 32;
}
