/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_ERR_H
#define INV_BASE_ERR_H

#include <stdint.h>

/*
 * Results and reasons.
 *
 * A function returns 0 when it did its work, a negative code when not, and a
 * positive number only where its header says so (an iterator's end).
 */
enum inv_code {
	INV_OK = 0,
	INV_END = 1,		/* iterators: there is no more */
	INV_EINVAL = -1,	/* an argument makes no sense */
	INV_ENOMEM = -2,	/* no memory */
	INV_EIO = -3,		/* the system refused: see inv_err.sys */
	INV_EFORMAT = -4,	/* not a file of the kind asked for */
	INV_EVERSION = -5,	/* written by a newer version */
	INV_EDAMAGED = -6,	/* bytes that make no sense */
	INV_ETRUNCATED = -7,	/* ends in the middle of something */
	INV_EFULL = -9,		/* the ring has no free packet */
	INV_ETOOBIG = -10,	/* beyond a limit of ours */
	INV_EBUSY = -11,	/* somebody else has it */
	INV_ETIME = -12,	/* its deadline has passed */
	INV_EDEPTH = -13,	/* nested deeper than a limit of ours */
	INV_EUNREACHABLE = -14, /* a node cannot be reached */
	INV_EREFUSED = -15,	/* a node does not want us: cookie, owner */
	INV_ELOST = -16,	/* the connection to a node is gone */
	INV_EREMOTE = -17,	/* a call failed on the node itself */
	INV_ENOTHING = -18,	/* nothing matched what was asked for */
	INV_ECANCELLED = -19,	/* the user wants no more of it */
	INV_EUNKNOWN = -20,	/* depends on what was not recorded */
	INV_ENONODE = -21,	/* its epmd knows no node of that name */
};

/*
 * The words for people.  Owned by the caller; may be NULL wherever it is a
 * parameter.  The bottom says what happened ("open /x: No such file"), each
 * level above puts before it what it was doing.
 */
struct inv_err {
	int code;
	int sys; /* errno, or 0 */
	char text[496];
};

/* Sets code and text; returns code.  sys is taken from errno by inv_err_sys
 * only, which also appends its text. */
int inv_err_set(struct inv_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int inv_err_sys(struct inv_err *err, int sys, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "fmt: " before the text; returns err's code. */
int inv_err_ctx(struct inv_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
