/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_FORMATS_H
#define INV_SINK_FORMATS_H

#include "sink/sink.h"

/* The formats, each in its own file. A new format must be added here and in
 * sink.c. */
extern const struct inv_sink_ops inv_sink_text;
extern const struct inv_sink_ops inv_sink_json;
extern const struct inv_sink_ops inv_sink_classic;
extern const struct inv_sink_ops inv_sink_etf;
extern const struct inv_sink_ops inv_sink_mermaid;
extern const struct inv_sink_ops inv_sink_shiviz;
extern const struct inv_sink_ops inv_sink_sequence;

/* Views of requests, which options choose and not a name. */
extern const struct inv_sink_ops inv_sink_requests;
extern const struct inv_sink_ops inv_sink_tree;
extern const struct inv_sink_ops inv_sink_compare;

#endif
