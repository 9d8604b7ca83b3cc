/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_ERR_H
#define INV_BASE_ERR_H

#include <stdint.h>

/*
 * A function returns 0 on success and a negative code on failure. If it can
 * also return a positive number, the comment at its declaration says so; an
 * iterator returns INV_END at the end.
 */
enum inv_code {
	INV_OK = 0,
	INV_END = 1,		/* iterators: there are no more items */
	INV_EINVAL = -1,	/* an argument is invalid */
	INV_ENOMEM = -2,	/* no memory */
	INV_EIO = -3,		/* a system call failed: see inv_err.sys */
	INV_EFORMAT = -4,	/* not a file of the requested kind */
	INV_EVERSION = -5,	/* written by a newer version */
	INV_EDAMAGED = -6,	/* invalid bytes */
	INV_ETRUNCATED = -7,	/* the data ends too early */
	INV_EFULL = -9,		/* no free space, in a ring or in a queue */
	INV_ETOOBIG = -10,	/* exceeds a limit of inviso */
	INV_EBUSY = -11,	/* in use by another process */
	INV_ETIME = -12,	/* the deadline has passed */
	INV_EDEPTH = -13,	/* nested deeper than a limit of inviso */
	INV_EUNREACHABLE = -14, /* a node cannot be reached */
	INV_EREFUSED = -15,	/* a node refused the connection (wrong cookie)
				   or the request */
	INV_ELOST = -16,	/* the connection to a node is gone */
	INV_EREMOTE = -17,	/* a call failed on the node */
	INV_ENOTHING = -18,	/* nothing matched */
	INV_ECANCELLED = -19,	/* cancelled by the user */
	INV_EUNKNOWN = -20,	/* the result depends on data that was not
				   recorded */
	INV_ENONODE = -21,	/* the host's epmd knows no node of the
				   requested name */
};

/*
 * An error message for people. The caller owns the struct; functions accept
 * NULL for it. The function that fails sets the text ("open /x: No such file").
 * Its callers can prepend what they were doing, with inv_err_ctx.
 */
struct inv_err {
	int code;
	int sys; /* errno, or 0 if no system call failed */
	char text[496];
};

/*
 * Sets code and text; returns code. inv_err_sys also stores errno in sys and
 * appends its description to the text.
 */
int inv_err_set(struct inv_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int inv_err_sys(struct inv_err *err, int sys, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prepends the formatted text and ": " to err's text; returns err's code. */
int inv_err_ctx(struct inv_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
