/* SPDX-License-Identifier: Apache-2.0 */
#include "log/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "log/names.h"
#include "log/set.h"
#include "log/tracefile.h"
#include "log/utf8.h"
#include "log/wrapset.h"

enum kind {
	KIND_LOG,
	KIND_TRACE,
	KIND_TI,
	KIND_EMPTY,
};

struct inv_input {
	enum kind kind;
	bool taken;		  /* a feed owns `file' or `src' */
	char *node;		  /* from the command line or the file; NULL:
				     unknown */
	struct inv_log_file file; /* used by KIND_LOG */
	struct inv_source src;	  /* used by all other kinds */
	struct inv_tracefile_info info; /* used by KIND_TRACE; the name in
					   info.node was moved to `node' */
	bool numbered;			/* `wrap' is valid: the file's name has
					   a number */
	struct inv_wrap_name wrap;
};

static int no_memory(struct inv_err *err)
{
	return inv_err_set(err, INV_ENOMEM, "no memory");
}

void inv_inputs_init(struct inv_inputs *in, struct inv_notices *notices)
{
	memset(in, 0, sizeof(*in));
	in->notices = notices;
}

static void release_input(struct inv_input *i)
{
	if (!i->taken) {
		if (i->kind == KIND_LOG)
			inv_log_file_close(&i->file);
		else
			inv_source_close(&i->src);
	}
	free(i->node);
}

void inv_inputs_release(struct inv_inputs *in)
{
	for (uint32_t i = 0; i < in->n_feeds; i++)
		in->feeds[i]->ops->free(in->feeds[i]);
	for (uint32_t i = 0; i < in->n_inputs; i++)
		release_input(&in->inputs[i]);
	for (uint32_t i = 0; i < in->n_nodes; i++) {
		inv_names_free(in->nodes[i]->names);
		free(in->nodes[i]->name);
		free(in->nodes[i]->erts_version);
		free(in->nodes[i]->os_pid);
		free(in->nodes[i]);
	}
	free(in->feeds);
	free(in->inputs);
	free(in->nodes);
	memset(in, 0, sizeof(*in));
}

/* --- the kind of a file --------------------------------------------------- */

static int identify(struct inv_inputs *in, struct inv_input *x,
		    struct inv_source *src, struct inv_err *err)
{
	struct inv_source mine = *src;
	bool is_log;
	int rc;

	memset(src, 0, sizeof(*src));
	x->src = mine;
	x->kind = KIND_EMPTY;
	if (!mine.size)
		return 0;
	if (inv_log_is(&mine, &is_log))
		return no_memory(err);
	if (is_log) {
		x->kind = KIND_LOG;
		return inv_log_file_open(&x->file, &mine, in->notices, err);
	}
	rc = inv_tracefile_probe(&x->src, &x->info);
	if (rc)
		return no_memory(err);
	if (!x->node)
		x->node = x->info.node;
	else
		free(x->info.node);
	x->info.node = NULL;
	if (!x->info.is_trace && !x->info.is_ti)
		return inv_err_set(err, INV_EFORMAT,
				   "%s: neither a log, nor a trace port's file,"
				   " nor a ti file",
				   mine.name);
	x->kind = x->info.is_trace ? KIND_TRACE : KIND_TI;
	x->numbered = inv_wrap_name_parse(&x->wrap, x->src.name);
	return 0;
}

int inv_inputs_add_source(struct inv_inputs *in, struct inv_source *src,
			  const char *node, struct inv_err *err)
{
	struct inv_input x = { 0 };
	struct inv_input *more;
	int rc;

	if (node) {
		x.node = inv_utf8_node_name(node, strlen(node));
		if (!x.node) {
			inv_source_close(src);
			return no_memory(err);
		}
	}
	rc = identify(in, &x, src, err);
	more = rc ? NULL :
		    realloc(in->inputs, (in->n_inputs + 1) * sizeof(*more));
	if (!more) {
		release_input(&x);
		return rc ? rc : no_memory(err);
	}
	in->inputs = more;
	in->inputs[in->n_inputs++] = x;
	return 0;
}

int inv_inputs_add(struct inv_inputs *in, const char *arg, struct inv_err *err)
{
	struct inv_source src;
	const char *eq = strchr(arg, '=');
	const char *at = strchr(arg, '@');
	const char *slash = strchr(arg, '/');
	char *node = NULL;
	int rc;

	if (eq && at && at < eq && (!slash || slash > eq)) {
		node = strndup(arg, (size_t)(eq - arg));
		if (!node)
			return no_memory(err);
		arg = eq + 1;
	}
	rc = inv_source_open(&src, arg, err);
	if (!rc)
		rc = inv_inputs_add_source(in, &src, node, err);
	free(node);
	return rc;
}

/* --- nodes ---------------------------------------------------------------- */

static struct inv_node *find_node(const struct inv_inputs *in, const char *name)
{
	for (uint32_t i = 0; i < in->n_nodes; i++)
		if (!strcmp(in->nodes[i]->name, name))
			return in->nodes[i];
	return NULL;
}

static struct inv_node *make_node(struct inv_inputs *in, const char *name)
{
	struct inv_node *node;
	struct inv_node **more;

	if (!name || !*name)
		name = "unknown";
	node = find_node(in, name);
	if (node)
		return node;
	more = realloc(in->nodes, (in->n_nodes + 1) * sizeof(*more));
	if (!more)
		return NULL;
	in->nodes = more;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->name = strdup(name);
	if (!node->name) {
		free(node);
		return NULL;
	}
	node->number = in->n_nodes;
	node->key = inv_node_key(name, strlen(name));
	in->nodes[in->n_nodes++] = node;
	return node;
}

static int read_names(struct inv_inputs *in, struct inv_input *x,
		      struct inv_err *err)
{
	struct inv_node *node = x->node ? find_node(in, x->node) : NULL;

	if (!node) {
		inv_notice_info(in->notices, x->src.name,
				"left out: no log here is of its node (%s)",
				x->node ? x->node : "unknown");
		return 0;
	}
	if (!node->names)
		node->names = inv_names_new();
	if (!node->names || inv_names_read(node->names, &x->src,
					   node->otp_release, in->notices))
		return no_memory(err);
	return 0;
}

/* Sets the node's creation. If two inputs have different creations, the node
 * was restarted between them, and its creation becomes 0. */
static void take_creation(struct inv_node *node, uint32_t creation)
{
	if (!node->otp_release) {
		node->creation = creation;
	} else if (node->restarted || node->creation != creation) {
		node->restarted = true;
		node->creation = 0;
	}
}

/* Takes a text about the node from a log. If the log is the node's first, sets
 * *text to a copy of `new'. If an earlier log had another text, sets *text to
 * NULL. */
static int take_text(char **text, const char *new, bool first)
{
	if (!first && *text && !strcmp(*text, new))
		return 0;
	free(*text);
	*text = first && *new ? strdup(new) : NULL;
	return first && *new && !*text ? INV_ENOMEM : 0;
}

/* Copies what the log's head says about the VM to the node. */
static int take_emulator(struct inv_node *node, const struct inv_log_about *a)
{
	bool first = !node->otp_release;

	take_creation(node, a->head.creation);
	node->otp_release = (unsigned)strtoul(a->otp_release, NULL, 10);
	if (take_text(&node->erts_version, a->erts_version, first))
		return INV_ENOMEM;
	return take_text(&node->os_pid, a->os_pid, first);
}

/* --- feeds ---------------------------------------------------------------- */

/* Makes a feed of all files with the uuid of input `first'. */
static int open_log(struct inv_inputs *in, uint32_t first, struct inv_err *err)
{
	struct inv_input *x = &in->inputs[first];
	struct inv_log_file *files =
		calloc(in->n_inputs - first, sizeof(*files));
	struct inv_node *node =
		make_node(in, x->node ? x->node : x->file.about.node);
	struct inv_feed *feed;
	uint32_t n = 0;
	int rc;

	if (!files || !node || take_emulator(node, &x->file.about)) {
		free(files);
		return no_memory(err);
	}
	for (uint32_t i = in->n_inputs; i-- > first;) {
		struct inv_input *y = &in->inputs[i];

		if (y->kind != KIND_LOG || y->taken ||
		    memcmp(y->file.about.head.uuid, x->file.about.head.uuid,
			   sizeof(x->file.about.head.uuid)) != 0)
			continue;
		files[n++] = y->file;
		y->taken = true;
	}
	rc = inv_log_set_new(&feed, files, n, node, in->notices, err);
	if (!rc)
		in->feeds[in->n_feeds++] = feed; /* the array has space for one
						    feed per input */
	return rc;
}

static bool same_node(const struct inv_input *a, const struct inv_input *b)
{
	if (!a->node || !b->node)
		return !a->node && !b->node;
	return !strcmp(a->node, b->node);
}

/*
 * Returns true if no file begins earlier than the file before it, so that the
 * files can have been written one after the other. Otherwise the files are no
 * wrap set, and only have similar names.
 */
static bool in_time(const struct inv_inputs *in, const uint32_t *index,
		    uint32_t n)
{
	const struct inv_tracefile_info *before = NULL;

	for (uint32_t i = 0; i < n; i++) {
		const struct inv_tracefile_info *x = &in->inputs[index[i]].info;

		if (x->timed && before && x->ts_ns < before->ts_ns)
			return false;
		if (x->timed)
			before = x;
	}
	return true;
}

/* Finds the inputs that form a wrap set with `first', and sorts them. */
static int wrap_set(const struct inv_inputs *in, uint32_t first,
		    uint32_t *index, uint32_t *n)
{
	const struct inv_input *x = &in->inputs[first];
	struct inv_wrap_name *names = calloc(in->n_inputs, sizeof(*names));

	if (!names)
		return INV_ENOMEM;
	*n = 0;
	for (uint32_t i = first; i < in->n_inputs; i++) {
		const struct inv_input *y = &in->inputs[i];

		names[i] = y->wrap;
		if (i == first ||
		    (y->kind == KIND_TRACE && !y->taken && x->numbered &&
		     y->numbered && same_node(x, y) &&
		     inv_wrap_name_alike(&x->wrap, &y->wrap)))
			index[(*n)++] = i;
	}
	inv_wrap_sort(names, index, *n);
	if (!in_time(in, index, *n)) {
		index[0] = first;
		*n = 1;
	}
	free(names);
	return 0;
}

static int open_trace(struct inv_inputs *in, uint32_t first,
		      struct inv_err *err)
{
	struct inv_node *node = make_node(in, in->inputs[first].node);
	struct inv_source *sources = calloc(in->n_inputs, sizeof(*sources));
	uint32_t *index = calloc(in->n_inputs, sizeof(*index));
	const struct inv_tracefile_info *info;
	struct inv_feed *feed;
	uint32_t n = 0;
	int rc = INV_ENOMEM;

	if (node && sources && index)
		rc = wrap_set(in, first, index, &n);
	if (rc) {
		free(sources);
		free(index);
		return no_memory(err);
	}
	for (uint32_t i = 0; i < n; i++) {
		sources[i] = in->inputs[index[i]].src;
		in->inputs[index[i]].taken = true;
	}
	info = &in->inputs[index[0]].info;
	free(index);
	rc = inv_tracefile_new(&feed, sources, n, node, in->notices, err);
	if (rc)
		return rc;
	if (info->timed)
		feed->first_ns = info->ts_ns;
	in->feeds[in->n_feeds++] = feed; /* the array has space for one feed per
					    input */
	return 0;
}

int inv_inputs_open(struct inv_inputs *in, struct inv_err *err)
{
	int rc = 0;

	in->feeds = calloc(in->n_inputs ? in->n_inputs : 1, sizeof(*in->feeds));
	if (!in->feeds)
		return no_memory(err);
	for (uint32_t i = 0; !rc && i < in->n_inputs; i++) {
		struct inv_input *x = &in->inputs[i];

		if (x->taken)
			continue;
		if (x->kind == KIND_LOG)
			rc = open_log(in, i, err);
		else if (x->kind == KIND_TRACE)
			rc = open_trace(in, i, err);
		else if (x->kind == KIND_EMPTY)
			inv_notice_info(in->notices, x->src.name, "empty");
	}
	for (uint32_t i = 0; !rc && i < in->n_inputs; i++)
		if (in->inputs[i].kind == KIND_TI)
			rc = read_names(in, &in->inputs[i], err);
	return rc;
}
