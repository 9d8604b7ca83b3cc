/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_REMOVE_H
#define INV_BASE_REMOVE_H

/*
 * Removes a file, or a directory with the files and directories in it, at most
 * INV_REMOVE_DEPTH levels deep. Links are removed, not followed. Errors are
 * ignored. May be called in a signal handler.
 */
#define INV_REMOVE_DEPTH 6
void inv_remove(const char *path);

#endif
