/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_PATHS_H
#define INV_FLOW_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/mfa.h"

/*
 * Where time goes: a tree of call paths. A frame is a function that the frame
 * above it called, or a text in parentheses. A frame has a count of its calls,
 * and the time that was spent in it, without the frames below it.
 *
 * Times come from recorded calls and from samples of stacks. Memory is bounded:
 * when the bound is reached, frames with little time are evicted. They become
 * part of the frame above them, which shows them as "(others)". So the totals
 * do not change. Frames of open calls are never evicted.
 *
 * 	f = inv_paths_enter(&p, inv_paths_root(&p), &mfa, elixir);
 * 	inv_paths_add(&p, f, 1, self_ns);
 * 	...
 * 	inv_paths_finish(&p);
 * 	for (f = inv_paths_next(&p, NULL); f; f = inv_paths_next(&p, f))
 * 		...
 */

/* The maximum depth of a path. Deeper frames become one frame "(deeper)". */
#define INV_PATHS_DEPTH 512u
#define INV_PATHS_MEMORY ((size_t)64 << 20)
/*
 * The longest time that is added, 104 days. A longer time comes from a wrong
 * clock.
 */
#define INV_PATHS_NS_MAX ((int64_t)1 << 53)

/* UTF-8 without control characters, and without characters that XML forbids. */
struct inv_paths_name {
	const char *text;
	size_t len;
	size_t module_len; /* of a function: how many bytes at the start of
			      `text' are the module; 0: not a function */
	uint32_t number;   /* from 0, in the order of first use */
};

struct inv_paths_frame {
	const struct inv_paths_name *name;
	struct inv_paths_frame *parent; /* NULL: the root, which has no name */
	struct inv_paths_frame *child;	/* the first child */
	struct inv_paths_frame *next;	/* the next child of parent */
	uint32_t depth;
	uint64_t count; /* number of calls, or of samples in which this frame
			   is the innermost one */
	uint64_t self_ns;
	/* inv_paths_finish sets these: sums of this frame and all frames below
	 * it */
	uint64_t total_count;
	uint64_t total_ns;
};

/* What the first frame of a path stands for. */
enum inv_paths_by {
	INV_PATHS_BY_NOTHING = 0, /* the outermost function */
	INV_PATHS_BY_KIND,	  /* the name of the process, or its label, or
				     the function that it runs */
	INV_PATHS_BY_NODE,
	INV_PATHS_BY_LABEL, /* the process's label (proc_lib:set_label/1) */
};

struct inv_paths_entry;
struct inv_paths_word;

struct inv_paths {
	enum inv_paths_by by;
	size_t most; /* how much memory the frames may take, in bytes */
	/* Calls inv_paths_mark for each frame that must not be evicted, because
	 * a caller has a pointer to it. NULL: every frame can be evicted. */
	void (*mark)(void *arg);
	void *mark_arg;
	bool sampled; /* samples of stacks were added */
	bool called;  /* recorded calls were added */
	/* results */
	uint64_t evicted; /* frames that became part of "(others)" */
	uint64_t unsure;  /* ended calls that were left out, because events were
			     lost during them */
	/* private */
	struct inv_paths_entry *root;
	struct inv_paths_entry *entries; /* hash table */
	struct inv_paths_word *words;	 /* hash table */
	size_t size;
	struct inv_buf text;
};

/* Parses the value of `--by'. Returns false if the value is invalid. */
bool inv_paths_by(const char *word, enum inv_paths_by *by);

/* `most' 0 means INV_PATHS_MEMORY. Returns 0 or INV_ENOMEM. Call
 * inv_paths_release in both cases. */
int inv_paths_init(struct inv_paths *p, size_t most);
void inv_paths_release(struct inv_paths *p);

struct inv_paths_frame *inv_paths_root(const struct inv_paths *p);

/*
 * Return the frame of the function or text below `above'. Add the frame if it
 * is new. If `above' is a frame of the same function, return `above': the VM
 * reports a tail call as a call inside the caller, so a loop would become a
 * path with one frame for each call. Return NULL if `above' is NULL, if memory
 * is exhausted, or if the bound is reached and no frame can be evicted. The
 * pointer stays valid as long as `mark' marks the frame.
 */
struct inv_paths_frame *inv_paths_enter(struct inv_paths *p,
					struct inv_paths_frame *above,
					const struct inv_mfa *m, bool elixir);
struct inv_paths_frame *inv_paths_enter_text(struct inv_paths *p,
					     struct inv_paths_frame *above,
					     const void *text, size_t len);

/*
 * Adds a count and a time to a frame. If the frame is NULL, adds them to the
 * frame "(others)" of the root.
 */
void inv_paths_add(struct inv_paths *p, struct inv_paths_frame *f,
		   uint64_t count, int64_t ns);

/* Says that the frame must not be evicted. Call this only in `mark'. Does
 * nothing if f is NULL. */
void inv_paths_mark(struct inv_paths_frame *f);

/* Sorts frames by name, adds the frames "(others)", and adds up totals.
 * Afterwards nothing can be entered. Returns 0 or INV_ENOMEM. */
int inv_paths_finish(struct inv_paths *p);

/*
 * After inv_paths_finish: returns the frame after f, or the first one below the
 * root if f is NULL. A frame comes before the frames below it. Returns NULL
 * after the last frame.
 */
const struct inv_paths_frame *inv_paths_next(const struct inv_paths *p,
					     const struct inv_paths_frame *f);

/* Returns how many frames there are. */
uint64_t inv_paths_count(const struct inv_paths *p);
/* Returns how many names there are. Names are numbered from 0. */
uint32_t inv_paths_names(const struct inv_paths *p);
/* Sets v[number] to each name. */
void inv_paths_list(const struct inv_paths *p, const struct inv_paths_name **v);

#endif
