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
extern const struct inv_sink_ops inv_sink_perfetto;
extern const struct inv_sink_ops inv_sink_folded;
extern const struct inv_sink_ops inv_sink_speedscope;
extern const struct inv_sink_ops inv_sink_pprof;
extern const struct inv_sink_ops inv_sink_callgrind;
extern const struct inv_sink_ops inv_sink_svg;
extern const struct inv_sink_ops inv_sink_otlp;
extern const struct inv_sink_ops inv_sink_otlp_proto;
extern const struct inv_sink_ops inv_sink_ctf;

/* Views of requests. The user chooses them with options, not by the name of a
 * format. */
extern const struct inv_sink_ops inv_sink_requests;
extern const struct inv_sink_ops inv_sink_tree;
extern const struct inv_sink_ops inv_sink_compare;

#endif
