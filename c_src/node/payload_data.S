/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of payload.h: files that mk/payload.mk has made. A NUL ends the text
 * of the build.
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
