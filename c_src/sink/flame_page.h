/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_FLAME_PAGE_H
#define INV_SINK_FLAME_PAGE_H

/* The parts of the format `svg' that are the same for each profile: style and
 * script. The elements of the profile itself are between and after these
 * parts. */
extern const char inv_flame_style[];
extern const char inv_flame_script[];

#endif
