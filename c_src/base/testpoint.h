/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_TESTPOINT_H
#define INV_BASE_TESTPOINT_H

/*
 * A test point: a place at which a stress test can pause or kill a thread.
 * There is a test point after each step that another thread or process can see.
 * The macro is empty, except in builds with INV_TESTPOINTS, in which the test
 * defines inv_testpoint().
 */
#ifdef INV_TESTPOINTS
void inv_testpoint(const char *name);
#define INV_TESTPOINT(name) inv_testpoint(name)
#else
#define INV_TESTPOINT(name) ((void)0)
#endif

#endif
