/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_PROCESS_H
#define INV_FLOW_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/calls.h"
#include "flow/gc.h"
#include "log/item.h"
#include "term/cursor.h"

/*
 * A table of processes and ports, with facts from earlier events: their open
 * calls and names.
 *
 * Memory is bounded. When the bound is reached, the table forgets processes
 * that had no event for some time.
 */

/* Identifies a process or port. */
struct inv_process_key {
	uint64_t number;
	uint64_t serial; /* 0 for a port */
	uint32_t node;	 /* number of the node, as in struct inv_node */
	uint32_t kind;	 /* INV_TOK_PID or INV_TOK_PORT */
};

struct inv_process;

struct inv_processes {
	size_t most; /* how much memory the processes may take, in bytes */
	/* results */
	uint64_t forgotten;	  /* processes that were forgotten */
	uint64_t forgotten_calls; /* open calls that were forgotten */
	/* private */
	struct inv_process *table;
	struct inv_process *last; /* the process that was found last */
	struct inv_process *turn; /* where the next search for processes to
				     forget begins; NULL: at the first */
	size_t size;		  /* bytes of memory that the processes take */
};

void inv_processes_init(struct inv_processes *ps, size_t most);
void inv_processes_release(struct inv_processes *ps);

/* Makes the key of a process or port of `node'. Returns false for another
 * term, and for a process of another node. */
bool inv_process_key(struct inv_process_key *key, const struct inv_node *node,
		     const struct inv_token *tok);

/* Returns the process, or NULL if it is unknown. */
struct inv_process *inv_processes_find(struct inv_processes *ps,
				       const struct inv_process_key *key);
/*
 * Like inv_processes_find, but adds the process if it is unknown. Returns NULL
 * if there is no memory. The pointer is valid until the next call of this
 * function.
 */
struct inv_process *inv_processes_get(struct inv_processes *ps,
				      const struct inv_process_key *key);
/* Forgets a process that has ended. */
void inv_processes_drop(struct inv_processes *ps, struct inv_process *p);
/* Call this when a process begins. Forgets all facts about an earlier process
 * with the same pid. But a name from an early note (inv_process_note_name) is
 * kept, because it is the name of the new process. */
void inv_processes_renew(struct inv_processes *ps, struct inv_process *p);
/* Forgets all processes of a node. */
void inv_processes_drop_node(struct inv_processes *ps, uint32_t node);

/* Returns the process's open calls. Call inv_process_changed after changes that
 * can use more memory. */
struct inv_calls *inv_process_calls(struct inv_process *p);
void inv_process_changed(struct inv_processes *ps, struct inv_process *p);

/* Returns the record of the process's current garbage collection. The caller
 * may change it. */
struct inv_open_gc *inv_process_gc(struct inv_process *p);

/*
 * The name that a process registered, or, in parentheses, its label or the
 * function that it was spawned to run. UTF-8; len 0: no name is known.
 */
struct inv_process_name {
	const char *text;
	size_t len;
	bool registered;
	bool label; /* the name is the label */
};

struct inv_process_name inv_process_name(const struct inv_process *p);
/* Sets the name. A text longer than INV_NAME_MAX is not stored. `registered' is
 * true if the process has registered the name. Only another registered name can
 * replace a registered name. */
#define INV_NAME_MAX 255u
void inv_process_set_name(struct inv_processes *ps, struct inv_process *p,
			  const void *text, size_t len, bool registered);
/*
 * Returns the process after p, in some order, or the first one if p is NULL.
 * Returns NULL after the last one.
 */
struct inv_process *inv_processes_next(const struct inv_processes *ps,
				       const struct inv_process *p);
/* Sets the name from a note. `early' is true if the flow has read the note
 * before some events that are older than the note. */
void inv_process_note_name(struct inv_processes *ps, struct inv_process *p,
			   const void *text, size_t len,
			   enum inv_note_name kind, bool early);
/* Returns true if it is useful to wait for the name of the process: the process
 * has no name, and inv_process_set_awaited was not called. Call
 * inv_process_set_awaited after a wait, or if the process has no name at
 * all. */
bool inv_process_awaits_name(const struct inv_process *p);
void inv_process_set_awaited(struct inv_process *p);
/* Call this when the process has unregistered its name. */
void inv_process_unset_name(struct inv_process *p);

#endif
