/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/survey.h"

#include <stdlib.h>

#include "cli/dir_inputs.h"
#include "log/merge.h"

static int read_all(struct inv_clocks *clocks, struct inv_inputs *inputs,
		    struct inv_cursor *cursor)
{
	struct inv_merge m;
	struct inv_item *it;
	struct inv_seq s;
	int rc = 0;

	if (inv_merge_init(&m, inputs->feeds, inputs->n_feeds)) {
		inv_merge_release(&m);
		return INV_ENOMEM;
	}
	while (!rc && !(rc = inv_merge_next(&m, &it))) {
		if (it->kind == INV_ITEM_NOTE && it->ev.note == INV_NOTE_CLOCK)
			rc = inv_clocks_note(clocks, it, cursor);
		if (it->kind != INV_ITEM_EVENT ||
		    it->ev.tag != INV_TAG_SEQ_TRACE ||
		    !inv_seq_read(&s, cursor, it))
			continue;
		rc = inv_clocks_add(clocks, it, &s);
	}
	inv_merge_release(&m);
	return rc == INV_END ? 0 : rc;
}

int inv_survey_inputs(struct inv_clocks *clocks, struct inv_inputs *inputs)
{
	struct inv_cursor *cursor = malloc(sizeof(*cursor));
	int rc = cursor ? read_all(clocks, inputs, cursor) : INV_ENOMEM;

	free(cursor);
	return rc ? rc : inv_clocks_solve(clocks);
}

int inv_survey(struct inv_clocks *clocks, char **files, int n_files)
{
	struct inv_notices quiet = { 0 };
	struct inv_inputs inputs;
	struct inv_err err = { 0 };
	int rc = 0;

	inv_inputs_init(&inputs, &quiet);
	for (int i = 0; !rc && i < n_files; i++)
		rc = inv_is_dir(files[i]) ?
			     inv_dir_add(&inputs, files[i], &err) :
			     inv_inputs_add(&inputs, files[i], &err);
	if (!rc)
		rc = inv_inputs_open(&inputs, &err);
	if (!rc)
		rc = inv_survey_inputs(clocks, &inputs);
	else if (rc != INV_ENOMEM)
		rc = inv_clocks_solve(clocks);
	inv_inputs_release(&inputs);
	return rc;
}
