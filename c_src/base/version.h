/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_VERSION_H
#define INV_BASE_VERSION_H

/* The version of inviso, which packagers can set. */
#ifndef INV_VERSION
#define INV_VERSION "0.1.0"
#endif

#endif
