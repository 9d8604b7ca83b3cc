/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of hops, and their nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/uthash.h"
#include "flow/flow.h"
#include "flow/hops_int.h"
#include "log/names.h"
#include "log/utf8.h"

/* A process, and its index in inv_hops.processes. */
struct inv_hop_entry {
	struct inv_hop_process process;
	uint32_t number;
	bool stored;
	UT_hash_handle hh;
};

/* --- nodes ---------------------------------------------------------------- */

static size_t before_at(const char *name)
{
	const char *at = strchr(name, '@');

	return at && at > name ? (size_t)(at - name) : strlen(name);
}

/* Shortens the name of the newest node to the part before @, if no other node
 * has the same part. */
static void shorten_node(struct inv_hops *h)
{
	struct inv_hop_node *added = &h->nodes[h->n_nodes - 1];
	size_t len = before_at(added->name);

	added->short_len = (uint32_t)len;
	for (struct inv_hop_node *other = h->nodes; other < added; other++) {
		if (before_at(other->name) != len ||
		    memcmp(other->name, added->name, len) != 0)
			continue;
		other->short_len = (uint32_t)strlen(other->name);
		added->short_len = (uint32_t)strlen(added->name);
	}
}

/* Returns the number of the node; INV_HOP_NONE: no memory. */
static uint32_t node_called(struct inv_hops *h, const struct inv_identity *id)
{
	char *name = inv_utf8_sanitized(id->node_len ? id->node : "?",
					id->node_len ? id->node_len : 1);
	struct inv_hop_node *v;

	if (!name)
		return INV_HOP_NONE;
	for (uint32_t i = 0; i < h->n_nodes; i++)
		if (!strcmp(h->nodes[i].name, name)) {
			free(name);
			return i;
		}
	v = realloc(h->nodes, (h->n_nodes + 1) * sizeof(*v));
	if (!v) {
		free(name);
		return INV_HOP_NONE;
	}
	h->nodes = v;
	v[h->n_nodes++] = (struct inv_hop_node){
		.name = name, .number = id->at ? id->at->number : INV_HOP_NONE
	};
	h->more += sizeof(*v) + strlen(name);
	shorten_node(h);
	return h->n_nodes - 1;
}

/* --- processes ------------------------------------------------------------ */

/* Sets the name of the process, from a ti file or from the flow. */
static void set_name(struct inv_hops *h, struct inv_hop_process *p,
		     const struct inv_identity *id, int64_t ts_ns)
{
	const struct inv_name *n = NULL;
	const char *text = id->name.text;
	size_t len = id->name.len;

	if (id->at && id->at->names && id->kind == INV_TOK_PID)
		n = inv_names_find(id->at->names, id->number, id->serial);
	while (n && !inv_name_holds(n, ts_ns))
		n = n->next;
	if (n) {
		text = n->text;
		len = n->len;
	}
	if (!len || p->registered)
		return;
	p->registered = n || id->name.registered;
	/* Most events do not change the name of the process. */
	if (p->name && !strncmp(p->name, text, len) && !p->name[len])
		return;
	h->more -= p->name ? strlen(p->name) : 0;
	free(p->name);
	p->name = inv_utf8_sanitized(text, len);
	h->more += p->name ? strlen(p->name) : 0;
}

static char *print_pid(const struct inv_identity *id)
{
	struct inv_buf b = { 0 };

	inv_buf_puts(&b, id->kind == INV_TOK_PID ? "<0." : "#Port<0.");
	inv_buf_u64(&b, id->number);
	if (id->kind == INV_TOK_PID) {
		inv_buf_putc(&b, '.');
		inv_buf_u64(&b, id->serial);
	}
	inv_buf_puts(&b, ">");
	inv_buf_putc(&b, 0);
	if (b.error) {
		inv_buf_release(&b);
		return NULL;
	}
	return (char *)b.data;
}

static struct inv_hop_entry *new_process(struct inv_hops *h, uint64_t key,
					 const struct inv_identity *id)
{
	struct inv_hop_process **v =
		inv_hops_grown(h->processes, h->n_processes, sizeof(*v));
	struct inv_hop_entry *e;
	uint32_t node = node_called(h, id);

	if (!v)
		return NULL;
	h->processes = v;
	e = node == INV_HOP_NONE ? NULL : calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->process.key = key;
	e->process.node = node;
	e->process.pid = print_pid(id);
	e->number = h->n_processes;
	e->stored = true;
	HASH_ADD(hh, h->table, process.key, sizeof(key), e);
	if (!e->stored || !e->process.pid) {
		if (e->stored)
			HASH_DEL(h->table, e);
		free(e->process.pid);
		free(e);
		return NULL;
	}
	v[h->n_processes++] = &e->process;
	h->more += sizeof(*e) + sizeof(*v) + 64;
	return e;
}

int inv_hops_process(struct inv_hops *h, const struct inv_item *it,
		     const struct inv_token *tok, uint64_t key,
		     uint32_t *number)
{
	struct inv_hop_entry *e;
	struct inv_identity id;

	if (!key || !inv_flow_identify(it->facts->flow, it->node, it->ev.dict,
				       tok, &id))
		return 0;
	HASH_FIND(hh, h->table, &key, sizeof(key), e);
	if (!e && inv_hops_full(h))
		return 0;
	if (!e)
		e = new_process(h, key, &id);
	if (!e)
		return INV_ENOMEM;
	set_name(h, &e->process, &id, it->ts_ns);
	*number = e->number;
	return 0;
}

static void free_process(struct inv_hop_process *p)
{
	free(p->pid);
	free(p->name);
	/* This frees the whole entry of the table, whose first member is the
	 * process. */
	free(p);
}

void inv_hops_free_processes(struct inv_hops *h)
{
	HASH_CLEAR(hh, h->table);
	for (uint32_t i = 0; i < h->n_processes; i++)
		free_process(h->processes[i]);
	for (uint32_t i = 0; i < h->n_nodes; i++)
		free(h->nodes[i].name);
	/* inv_hops_grown derives the allocated size of an array from its number
	 * of elements. So arrays without elements are freed. */
	free(h->processes);
	free(h->nodes);
	h->processes = NULL;
	h->nodes = NULL;
	h->n_processes = h->n_nodes = 0;
}

void inv_hops_number_processes(struct inv_hops *h, uint32_t *number)
{
	uint32_t n = 0;

	HASH_CLEAR(hh, h->table);
	for (uint32_t i = 0; i < h->n_processes; i++) {
		if (number[i] == INV_HOP_NONE) {
			free_process(h->processes[i]);
			continue;
		}
		h->processes[n] = h->processes[i];
		number[i] = n++;
	}
	h->n_processes = n;
}
