/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a timeline, and their tracks. */
#include <stdlib.h>

#include "base/uthash.h"
#include "log/names.h"
#include "sink/perfetto_int.h"
#include "sink/system_process.h"

/* Bounds of the memory: the number of processes, and of open slices of calls in
 * one process and in all processes. If there are too many processes, processes
 * without a recent event are forgotten. */
#define PROCESSES 65536u
#define OPEN_OF_PROCESS 16384u
#define OPEN_OF_ALL (1u << 22)

/* --- forgetting ----------------------------------------------------------- */

void inv__pf_leave(struct inv_perfetto *f, struct inv_pf_process *p,
		   uint32_t depth, const char *why)
{
	while (p->n && p->open[p->n - 1] >= depth) {
		inv__pf_end(f, p->track, p->ts_ns, why);
		p->n--;
	}
}

static void drop(struct inv_perfetto *f, struct inv_pf_process *p)
{
	HASH_DEL(f->table, p);
	f->n_processes--;
	f->n_open -= p->cap;
	if (f->last == p)
		f->last = NULL;
	inv_buf_release(&p->name);
	free(p->open);
	free(p);
}

void inv__pf_forget(struct inv_perfetto *f, struct inv_pf_process *p,
		    const char *why)
{
	inv__pf_leave(f, p, 0, why);
	if (p->collecting)
		inv__pf_end(f, p->states, p->ts_ns, why);
	if (p->in_state)
		inv__pf_end(f, p->states, p->ts_ns, why);
	drop(f, p);
}

/* Looks at the processes in turn. Forgets the first process that had no event
 * since this function last looked at it. */
static void forget_one(struct inv_perfetto *f)
{
	for (;;) {
		struct inv_pf_process *p = f->table;

		if (!p->active) {
			inv__pf_forget(f, p, "forgotten");
			return;
		}
		/* Moves the process to the end of the order, so that it is
		 * looked at last. */
		p->active = false;
		HASH_DEL(f->table, p);
		p->stored = true;
		HASH_ADD(hh, f->table, key, sizeof(p->key), p);
		if (!p->stored) {
			f->sink.out->error = INV_ENOMEM;
			return;
		}
	}
}

void inv__pf_processes_release(struct inv_perfetto *f)
{
	struct inv_pf_process *p = f->table;

	HASH_CLEAR(hh, f->table);
	while (p) {
		struct inv_pf_process *next = p->hh.next;

		inv_buf_release(&p->name);
		free(p->open);
		free(p);
		p = next;
	}
}

/* --- names ---------------------------------------------------------------- */

/* Returns the process's name from a ti file. If there is none, returns the name
 * that earlier events showed. */
static struct inv_process_name name_of(const struct inv_item *it,
				       const struct inv_process_key *key)
{
	struct inv_process_name name = { 0 };
	const struct inv_name *n = NULL;

	if (it->node->names && key->kind == INV_TOK_PID)
		n = inv_names_find(it->node->names, key->number, key->serial);
	while (n && !inv_name_holds(n, it->ts_ns))
		n = n->next;
	if (n)
		return (struct inv_process_name){
			.text = n->text,
			.len = n->len,
			.registered = true,
		};
	/* facts->name is the name of the tracee. A seq_trace event has no
	 * tracee. */
	if (it->facts && it->ev.tag != INV_TAG_SEQ_TRACE)
		name = it->facts->name;
	return name;
}

/* Appends the name of the track. It begins with the name of the process,
 * because the reader sorts tracks by their names. */
static void put_name(struct inv_perfetto *f, const struct inv_pf_process *p,
		     const struct inv_process_name *name, struct inv_buf *b)
{
	if (name->len) {
		if (!name->registered)
			inv_buf_putc(b, '(');
		if (f->sink.print.syntax != INV_SYNTAX_ELIXIR ||
		    !inv_term_print_translated(name->text, name->len, b))
			inv_buf_put(b, name->text, name->len);
		inv_buf_puts(b, name->registered ? " " : ") ");
	}
	inv_buf_puts(b, p->key.kind == INV_TOK_PID ? "<0." : "#Port<0.");
	inv_buf_u64(b, p->key.number);
	if (p->key.kind == INV_TOK_PID) {
		inv_buf_putc(b, '.');
		inv_buf_u64(b, p->key.serial);
	}
	inv_buf_putc(b, '>');
}

/* Describes the track again if the name of the process has changed. */
static void rename_track(struct inv_perfetto *f, struct inv_pf_process *p,
			 const struct inv_item *it)
{
	struct inv_process_name name = name_of(it, &p->key);
	enum inv_pf_group group = INV_PF_PROCESSES;
	uint64_t parent;

	if (p->name.len && !name.len)
		return; /* keep the earlier name, because it is better than no
			   name */
	inv_buf_reset(&f->text);
	put_name(f, p, &name, &f->text);
	if (f->text.len == p->name.len &&
	    !memcmp(f->text.data, p->name.data, p->name.len))
		return;
	inv_buf_reset(&p->name);
	inv_buf_put(&p->name, f->text.data, f->text.len);
	if (p->key.kind == INV_TOK_PORT)
		group = INV_PF_PORTS;
	else if (name.registered && inv_system_process(name.text, name.len))
		group = INV_PF_SYSTEM;
	parent = inv__pf_group(f, it->node, group);
	inv__pf_close(f, inv__pf_track(f, p->track, parent, p->name.data,
				       p->name.len));
}

/* --- finding -------------------------------------------------------------- */

static struct inv_pf_process *add(struct inv_perfetto *f,
				  const struct inv_process_key *key)
{
	struct inv_pf_process *p;

	if (f->n_processes >= PROCESSES)
		forget_one(f);
	p = calloc(1, sizeof(*p));
	if (!p)
		goto no_memory;
	p->key = *key;
	p->stored = true;
	p->track = inv__pf_uuid(INV_PF_PROCESS + (uint64_t)key->kind * 1000,
				key->node, key->number, key->serial);
	HASH_ADD(hh, f->table, key, sizeof(p->key), p);
	if (!p->stored)
		goto no_memory;
	f->n_processes++;
	return p;

no_memory:
	free(p);
	f->sink.out->error = INV_ENOMEM;
	return NULL;
}

struct inv_pf_process *inv__pf_process(struct inv_perfetto *f,
				       const struct inv_item *it,
				       const struct inv_token *tok)
{
	struct inv_pf_process *p = f->last;
	struct inv_process_key key;

	if (!inv_process_key(&key, it->node, tok))
		return NULL;
	if (!p || memcmp(&p->key, &key, sizeof(key)) != 0) {
		HASH_FIND(hh, f->table, &key, sizeof(key), p);
		if (!p)
			p = add(f, &key);
		if (!p)
			return NULL;
		f->last = p;
	}
	p->active = true;
	rename_track(f, p, it);
	/* The times of a track must not go back, because slices would
	 * overlap. */
	if (it->ts_ns > p->ts_ns)
		p->ts_ns = it->ts_ns;
	return p;
}

bool inv__pf_enter(struct inv_perfetto *f, struct inv_pf_process *p,
		   uint32_t depth)
{
	if (inv_unlikely(p->n == p->cap)) {
		uint32_t cap = p->cap ? 2 * p->cap : 8;
		uint32_t *open;

		if (cap > OPEN_OF_PROCESS ||
		    f->n_open + cap - p->cap > OPEN_OF_ALL)
			return false;
		open = realloc(p->open, cap * sizeof(*open));
		if (!open) {
			f->sink.out->error = INV_ENOMEM;
			return false;
		}
		f->n_open += cap - p->cap;
		p->open = open;
		p->cap = cap;
	}
	p->open[p->n++] = depth;
	return true;
}

uint64_t inv__pf_states(struct inv_perfetto *f, struct inv_pf_process *p)
{
	static const char name[] = "state";

	if (p->states)
		return p->states;
	p->states = inv__pf_uuid(INV_PF_STATE, p->track, 0, 0);
	inv__pf_close(f, inv__pf_track(f, p->states, p->track, name,
				       sizeof(name) - 1));
	return p->states;
}

#define UNIT_BYTES 3u

uint64_t inv__pf_heap(struct inv_perfetto *f, struct inv_pf_process *p)
{
	static const char name[] = "heap";
	struct inv_pf_open o;
	size_t at;

	if (p->heap)
		return p->heap;
	p->heap = inv__pf_uuid(INV_PF_HEAP, p->track, 0, 0);
	o = inv__pf_track(f, p->heap, p->track, name, sizeof(name) - 1);
	at = inv_proto_open(f->sink.out, PF_TRACK_COUNTER);
	inv_proto_u64(f->sink.out, PF_COUNTER_UNIT, UNIT_BYTES);
	inv_proto_close(f->sink.out, at);
	inv__pf_close(f, o);
	return p->heap;
}
