/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CNODE_PACK_H
#define INV_CNODE_PACK_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/cursor.h"

/*
 * Writes packed terms (abi/term.h): the terms of one packet, and the packet's
 * definitions. Terms in the external format are cut as the tracer cuts them by
 * default: after INV_PACK_BYTES bytes, and if a term is nested in more than
 * INV_PACK_DEPTH containers.
 *
 * A struct is used for one packet after another. Only inv_pack_init allocates
 * memory, except for the buffers, which grow.
 */
#define INV_PACK_BYTES 4096u
#define INV_PACK_DEPTH 32u

/* A packet with more definitions than this must end, because the next event can
 * add this many definitions, too. */
#define INV_PACK_DEFS_FULL 2048u

struct inv_pack_def;
struct inv_pack_node;

struct inv_pack {
	struct inv_buf terms;
	size_t def_len; /* bytes of the definitions */
	uint32_t n_defs;
	bool cut; /* a term was cut; the caller clears it */
	/* private */
	const char *home; /* borrowed: the recording node */
	uint32_t creation;
	size_t limit; /* while a term is written: at most this many bytes of
		       * terms and definitions together */
	struct inv_buf def_bytes;
	struct inv_pack_def *defs;
	uint32_t *slots;
	struct inv_pack_node *nodes; /* numbers of nodes, for the whole log */
	uint32_t n_nodes;
	uint32_t last_node;
	struct inv_cursor cursor;
};

/* Returns 0 or INV_ENOMEM. `home' is the node's name. */
int inv_pack_init(struct inv_pack *p, const char *home, uint32_t creation);
void inv_pack_release(struct inv_pack *p);

/* Begins a packet: removes all terms and definitions. */
void inv_pack_clear(struct inv_pack *p);

/* These functions append terms. p->terms.error is set if there is no memory. */
void inv_pack_int(struct inv_pack *p, int64_t v);
void inv_pack_tuple(struct inv_pack *p, uint32_t arity);
void inv_pack_nil(struct inv_pack *p);
void inv_pack_atom(struct inv_pack *p, const char *name);
void inv_pack_pid(struct inv_pack *p, const erlang_pid *pid);
/* Appends a term in the external format, with or without the version byte. If
 * the bytes are invalid, appends the mark of a term that was left out. */
void inv_pack_etf(struct inv_pack *p, const char *bytes, size_t len);

/* Appends the definitions to `out', in the order of a packet. */
void inv_pack_put_defs(const struct inv_pack *p, struct inv_buf *out);

#endif
