/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/profile_sink.h"

#include "flow/flow.h"
#include "sink/formats.h"

int inv_paths_sink_event(struct inv_sink *s, const struct inv_item *it)
{
	(void)s;
	if (it->facts)
		inv_flow_profile(it->facts->flow, it);
	return 0;
}

const char *inv_paths_unit(const struct inv_paths *p)
{
	return p->sampled && !p->called ? "samples" : "calls";
}

static void write_with(struct inv_sink *s,
		       void (*writer)(const struct inv_paths *p,
				      struct inv_buf *b))
{
	if (inv_paths_finish(s->opts.profile))
		s->out->error = INV_ENOMEM;
	else
		writer(s->opts.profile, s->out);
}

#define FORMAT(id, text, is_binary)                 \
	static void end_##id(struct inv_sink *s)    \
	{                                           \
		write_with(s, inv_paths_##id);      \
	}                                           \
	const struct inv_sink_ops inv_sink_##id = { \
		.name = #id,                        \
		.help = (text),                     \
		.binary = (is_binary),              \
		.profile = true,                    \
		.size = sizeof(struct inv_sink),    \
		.event = inv_paths_sink_event,      \
		.end = end_##id,                    \
	}

FORMAT(folded, "call paths with their time in ns, for flamegraph.pl", false);
FORMAT(speedscope, "call paths for speedscope.app", false);
FORMAT(pprof, "call paths for `go tool pprof'", true);
FORMAT(callgrind, "functions and their calls, for KCachegrind", false);
FORMAT(svg, "a flame graph, as a page for a browser", false);

void inv_paths_write(const struct inv_sink_ops *format,
		     const struct inv_paths *p, struct inv_buf *b)
{
	static const struct {
		const struct inv_sink_ops *format;
		void (*write)(const struct inv_paths *p, struct inv_buf *b);
	} writers[] = {
		{ &inv_sink_folded, inv_paths_folded },
		{ &inv_sink_speedscope, inv_paths_speedscope },
		{ &inv_sink_pprof, inv_paths_pprof },
		{ &inv_sink_callgrind, inv_paths_callgrind },
		{ &inv_sink_svg, inv_paths_svg },
	};

	for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++)
		if (writers[i].format == format)
			writers[i].write(p, b);
}
