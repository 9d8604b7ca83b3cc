/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_PACKET_MAX_H
#define INV_LOG_PACKET_MAX_H

#include "abi/log.h"

/*
 * The maximum sizes of a packet's body in a file: for a packet with several
 * events, and for a packet with one event. They are larger than the maximum
 * sizes before compression, because compression can make data slightly larger.
 */
#define INV_PACKET_BODY_MAX (INV_PACKET_RAW_MAX + 64u * 1024)
#define INV_EVENT_BODY_MAX (INV_EVENT_MAX + 128u * 1024)

#endif
