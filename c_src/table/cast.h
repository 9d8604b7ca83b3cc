/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TABLE_CAST_H
#define INV_TABLE_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/mfa.h"
#include "table/words.h"

/*
 * The processes and functions to which rows refer, each with a number from 1. A
 * process that gets another name also gets another number, because each row
 * shows the name that the process had at the time of the row. A struct of zeros
 * is empty. Each process takes about 60 bytes of memory.
 */
struct inv_row_process {
	uint64_t number;
	uint64_t serial;
	uint32_t node; /* name of the node: number in inv_words */
	uint32_t name; /* name of the process: number in inv_words; 0: not
			  known */
	uint8_t kind;  /* INV_TOK_PID or INV_TOK_PORT. INV_TOK_ATOM: only the
			  name is known, and `number' is the number of the name
			  in inv_words */
};

struct inv_row_function {
	uint64_t hash;
	uint32_t module; /* module and function: numbers in inv_words */
	uint32_t function;
	uint32_t arity;
	uint32_t mfa; /* the whole name, such as shop:order/2 or
			 Shop.Cart.add/2: number in inv_words */
};

struct inv_cast {
	struct inv_words words;
	struct inv_row_process *v; /* process i is v[i - 1] */
	uint32_t n;
	struct inv_row_function *functions; /* function i is functions[i - 1] */
	uint32_t n_functions;
	/* private */
	uint32_t cap, cap_functions;
	uint32_t *slots; /* hash table: the newest number of each process */
	uint32_t n_slots, n_keys;
	uint32_t *function_slots;
	uint32_t n_function_slots;
};

void inv_cast_release(struct inv_cast *w);

/* Returns the number of a process. If the process is new or has another name,
 * gives it a new number. Returns 0 if memory is exhausted. `name' is the name
 * as a text; len is 0 if the name is not known. process->name is not used. */
uint32_t inv_cast_add(struct inv_cast *w, const struct inv_row_process *process,
		      const void *name, size_t len);

/* Returns the number of a function, and adds the function if it is new. Returns
 * 0 if memory is exhausted. */
uint32_t inv_cast_function(struct inv_cast *w, const struct inv_mfa *m);

/* Returns a hash of the process. The hash does not depend on the process's
 * name. */
uint64_t inv_row_process_hash(const struct inv_row_process *process);

/* Appends <0.88.0> or #Port<0.5>. Appends nothing if only the name is known. */
void inv_row_process_pid(const struct inv_row_process *process,
			 struct inv_buf *out);

#endif
