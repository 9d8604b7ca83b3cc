/* SPDX-License-Identifier: Apache-2.0 */
#include "node/dns.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/endpoint.h"
#include "node/epmd.h"

/* --- what the user writes ------------------------------------------------- */

static int bad(struct inv_err *err)
{
	return inv_err_set(err, INV_EINVAL,
			   "write a name that DNS knows, as in shop.default; "
			   "with a part of the nodes' names or with a port: "
			   "app@shop.default:9001");
}

/*
 * inv_node_target_parse parses ports and brackets, but only after a node name
 * with an @. So if the user's text has no @, this function puts "x@" in front
 * of it.
 */
int inv_dns_parse(struct inv_dns *out, const char *text, struct inv_err *err)
{
	bool any = strchr(text, '@') == NULL;
	char target[2 * INV_NODE_NAME_MAX];
	struct inv_node_name node;
	int n = snprintf(target, sizeof(target), "%s%s", any ? "x@" : "", text);

	memset(out, 0, sizeof(*out));
	if (n < 0 || (size_t)n >= sizeof(target) ||
	    inv_node_target_parse(&node, target, (size_t)n, NULL) < 0)
		return bad(err);
	memcpy(out->name, node.host, sizeof(out->name));
	out->port = node.port;
	if (!any)
		memcpy(out->alive, node.alive, sizeof(out->alive));
	return 0;
}

/* --- the nodes at one address --------------------------------------------- */

/* The search for nodes at one address, in a thread of its own. */
struct asker {
	const struct inv_dns *dns;
	const struct inv_patience *p;
	struct inv_endpoint at; /* the address */
	struct inv_dns_nodes found;
	size_t others; /* how many nodes at this address have another part
			  before the @ than the user wants */
	int r;	       /* the thread's result: 0, INV_ENOMEM or INV_ELOST */
	pthread_t thread;
	bool started;
};

static struct inv_dns_node *add(struct inv_dns_nodes *ns)
{
	struct inv_dns_node *more = realloc(ns->v, (ns->n + 1) * sizeof(*more));

	if (!more)
		return NULL;
	ns->v = more;
	memset(&more[ns->n], 0, sizeof(*more));
	return &more[ns->n++];
}

/* Adds the address `where' with the reason why it has no node. */
static int add_failure(struct inv_dns_nodes *ns, const struct inv_dns *d,
		       const char *where, const struct inv_err *why)
{
	struct inv_dns_node *n = add(ns);

	if (!n)
		return INV_ENOMEM;
	snprintf(n->name.full, sizeof(n->name.full), "%s", where);
	memcpy(n->name.service, d->name, sizeof(n->name.service));
	n->err = *why;
	return 0;
}

/* Adds the node alive@address. If `alive' is "", the part before the @ is not
 * known until the command connects to the node. */
static int add_node(struct asker *a, const char *alive, uint16_t port)
{
	char text[2 * INV_NODE_NAME_MAX + 2];
	struct inv_node_name name;
	struct inv_dns_node *n;
	int len = snprintf(text, sizeof(text), "%s@%s", alive[0] ? alive : "x",
			   a->at.host);

	/* Skip the name if it is not valid: epmd's answer is not checked. */
	if (inv_node_name_parse(&name, text, (size_t)len, NULL) < 0)
		return 0;
	n = add(&a->found);
	if (!n)
		return INV_ENOMEM;
	n->name = name;
	n->name.port = port;
	memcpy(n->name.service, a->dns->name, sizeof(n->name.service));
	if (!alive[0]) {
		n->name.alive[0] = '\0';
		snprintf(n->name.full, sizeof(n->name.full),
			 strchr(a->at.host, ':') ? "[%.45s]:%u" : "%.45s:%u",
			 a->at.host, port);
	}
	return 0;
}

static void take_name(void *arg, const char *name, size_t len, uint16_t port)
{
	struct asker *a = arg;
	const char *wanted = a->dns->alive;
	char alive[INV_NODE_NAME_MAX + 1];

	if (a->r < 0 || a->found.n > INV_DNS_MAX || len >= sizeof(alive))
		return;
	memcpy(alive, name, len);
	alive[len] = '\0';
	if (wanted[0] && strcmp(alive, wanted) != 0)
		a->others++;
	else
		a->r = add_node(a, alive, port);
}

static int no_node(const struct asker *a, struct inv_err *err)
{
	if (a->others > 0)
		return inv_err_set(err, INV_ENONODE,
				   "there is no node '%s' on %s, but %zu other "
				   "node%s",
				   a->dns->alive, a->at.host, a->others,
				   a->others == 1 ? "" : "s");
	return inv_err_set(err, INV_ENONODE, "its epmd knows no node");
}

static void *ask(void *arg)
{
	struct asker *a = arg;
	struct inv_err why = { 0 };
	char option[INV_NODE_NAME_MAX + 8];
	int r;

	if (a->dns->port) {
		a->r = add_node(a, a->dns->alive, a->dns->port);
		return NULL;
	}
	snprintf(option, sizeof(option), "--dns %s", a->dns->name);
	r = inv_epmd_names(&a->at, option, take_name, a, a->p, &why);
	if (r == INV_ELOST)
		a->r = r;
	else if (r == 0 && a->r == 0 && a->found.n == 0)
		r = no_node(a, &why);
	if (r < 0 && a->r == 0)
		a->r = add_failure(&a->found, a->dns, a->at.host, &why);
	return NULL;
}

/* --- all addresses -------------------------------------------------------- */

/* Starts the thread that searches for nodes, with all signals blocked. If that
 * fails, searches now, in the calling thread. */
static void start(struct asker *a)
{
	sigset_t all;
	sigset_t was;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	a->started = pthread_create(&a->thread, NULL, ask, a) == 0;
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!a->started)
		ask(a);
}

/* Moves the nodes that the thread has found to `out'. */
static int move(struct asker *a, struct inv_dns_nodes *out)
{
	struct inv_dns_node *n;

	for (size_t i = 0; a->r == 0 && i < a->found.n; i++) {
		n = add(out);
		if (n)
			*n = a->found.v[i];
		else
			a->r = INV_ENOMEM;
	}
	inv_dns_nodes_release(&a->found);
	return a->r;
}

static int too_many(const struct inv_dns *d, const char *of,
		    struct inv_err *err)
{
	return inv_err_set(err, INV_ETOOBIG,
			   "--dns %s: there are more than %d %s; name some of "
			   "the nodes with -n",
			   d->name, INV_DNS_MAX, of);
}

static int ask_all(struct asker *askers, size_t n, struct inv_dns_nodes *out,
		   struct inv_err *err)
{
	const struct inv_dns *d = askers[0].dns;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		start(&askers[i]);
	for (size_t i = 0; i < n; i++) {
		int moved;

		if (askers[i].started)
			pthread_join(askers[i].thread, NULL);
		moved = move(&askers[i], out);
		if (r == 0)
			r = moved;
	}
	if (r == 0 && out->n > INV_DNS_MAX)
		return too_many(d, "nodes", err);
	if (r < 0)
		inv_err_set(err, r, r == INV_ELOST ? "cancelled" : "no memory");
	return r;
}

/* Returns true if an address before addrs[i] is equal to it. */
static bool is_repeated(const struct inv_addr *addrs, size_t i)
{
	char text[INET6_ADDRSTRLEN];
	char other[INET6_ADDRSTRLEN];

	inv_addr_text(&addrs[i], text, sizeof(text));
	for (size_t k = 0; k < i; k++) {
		inv_addr_text(&addrs[k], other, sizeof(other));
		if (strcmp(text, other) == 0)
			return true;
	}
	return false;
}

/*
 * Searches only at the addresses of the same family (IPv4 or IPv6) as the first
 * address, because the addresses of the other family belong to the same
 * machines.
 */
static int ask_at(const struct inv_dns *d, const struct inv_addr *addrs,
		  size_t n, const struct inv_patience *p,
		  struct inv_dns_nodes *out, struct inv_err *err)
{
	struct asker *askers = calloc(n, sizeof(*askers));
	size_t used = 0;
	int r;

	if (!askers)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	for (size_t i = 0; i < n; i++) {
		struct asker *a = &askers[used];

		if (addrs[i].sock.any.sa_family !=
			    addrs[0].sock.any.sa_family ||
		    is_repeated(addrs, i))
			continue;
		a->dns = d;
		a->p = p;
		inv_addr_text(&addrs[i], a->at.host, sizeof(a->at.host));
		a->at.addrs[0] = addrs[i];
		a->at.n_addrs = 1;
		used++;
	}
	r = used > INV_DNS_MAX ? too_many(d, "addresses", err) :
				 ask_all(askers, used, out, err);
	free(askers);
	return r;
}

int inv_dns_find(const struct inv_dns *d, const struct inv_patience *p,
		 struct inv_dns_nodes *out, struct inv_err *err)
{
	/* Space for one address more than allowed in each of the two families
	 * (IPv4 and IPv6), so that too many addresses are noticed. */
	const size_t max = (size_t)2 * (INV_DNS_MAX + 1);
	struct inv_addr *addrs = calloc(max, sizeof(*addrs));
	struct inv_err why = { 0 };
	size_t n = 0;
	int r;

	if (!addrs)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	r = inv_net_resolve(d->name, addrs, max, &n, p, &why);
	if (r == 0)
		r = ask_at(d, addrs, n, p, out, err);
	else if (r == INV_EUNREACHABLE)
		r = add_failure(out, d, d->name, &why);
	else if (err)
		*err = why;
	free(addrs);
	return r;
}

void inv_dns_nodes_release(struct inv_dns_nodes *ns)
{
	free(ns->v);
	memset(ns, 0, sizeof(*ns));
}
