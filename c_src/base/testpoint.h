/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_TESTPOINT_H
#define INV_BASE_TESTPOINT_H

/*
 * Places where a stress test can hold or kill a thread: after each step that
 * another thread or process can see.  Nothing unless built with
 * INV_TESTPOINTS, when the test supplies inv_testpoint().
 */
#ifdef INV_TESTPOINTS
void inv_testpoint(const char *name);
#define INV_TESTPOINT(name) inv_testpoint(name)
#else
#define INV_TESTPOINT(name) ((void)0)
#endif

#endif
