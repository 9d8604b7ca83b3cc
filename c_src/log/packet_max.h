/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_PACKET_MAX_H
#define INV_LOG_PACKET_MAX_H

/*
 * The maximum size of an unpacked body. A ring's packet has at most 512 KiB;
 * the other half is for repeated definitions.
 */
#define INV_PACKET_RAW_MAX (1024u * 1024)
/*
 * The maximum size of a stored body: compression can make data slightly larger.
 */
#define INV_PACKET_BODY_MAX (INV_PACKET_RAW_MAX + 64u * 1024)

#endif
