/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that payload.h describes: the contents of files that mk/payload.mk
 * has made. A NUL follows the text of inv_payload_build.
 */
	.macro	carry name, file
	.globl	\name
	.globl	\name\()_end
	.hidden	\name
	.hidden	\name\()_end
	.balign	8
\name:
	.incbin	"\file"
\name\()_end:
	.byte	0
	.endm

	.section .rodata
	carry	inv__payload_build, BUILD
	carry	inv__payload_survey, SURVEY
	carry	inv__payload_boot_head, BOOT_HEAD
	carry	inv__payload_boot_tail, BOOT_TAIL
	carry	inv__payload_nif, NIF
	carry	inv__payload_spool, SPOOL

	.section .note.GNU-stack, "", %progbits
