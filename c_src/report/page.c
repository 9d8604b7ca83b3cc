/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: one HTML file that loads nothing. Style, script and body are files
 * of their own beside this file, and become part of the program.
 */
#include "report/page.h"

#include <stddef.h>

/* clang-format off */
#define EMBED(id, file)                                       \
	__asm__(".pushsection .rodata\n"                      \
		".globl inv__page_" #id "\n"                  \
		"inv__page_" #id ":\n"                        \
		".incbin \"c_src/report/" file "\"\n"         \
		".globl inv__page_" #id "_end\n"              \
		"inv__page_" #id "_end:\n"                    \
		".popsection\n");                             \
	extern const char inv__page_##id[], inv__page_##id##_end[]
/* clang-format on */

EMBED(head, "page_head.html");
EMBED(style, "page.css");
EMBED(body, "page_body.html");
EMBED(script, "page.js");
EMBED(pictures, "page_pictures.js");
EMBED(timeline, "page_timeline.js");

#define PUT(id, out)                                           \
	inv_buf_put((out), inv__page_##id,                     \
		    (size_t)((uintptr_t)inv__page_##id##_end - \
			     (uintptr_t)inv__page_##id))

void inv_report_page(struct inv_report *r, const struct inv_report_about *a,
		     struct inv_buf *out)
{
	struct inv_buf json = { 0 };
	struct inv_json j = { .out = &json };

	inv_report_json(r, a, true, &j);
	if (json.error)
		out->error = json.error;
	PUT(head, out);
	inv_buf_puts(out, "<style>\n");
	PUT(style, out);
	inv_buf_puts(out, "</style>\n");
	PUT(body, out);
	inv_buf_puts(out, "<script id='data' type='application/json'>\n");
	inv_json_embed(&json, out);
	inv_buf_puts(out, "</script>\n<script>\n'use strict';\n");
	PUT(pictures, out);
	PUT(timeline, out);
	PUT(script, out);
	inv_buf_puts(out, "</script>\n</body>\n</html>\n");
	inv_buf_release(&json);
}
