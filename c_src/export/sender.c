/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sender.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "cli/cmd.h"
#include "cli/units.h"

/* The first and the longest pause before a request is repeated. */
#define PAUSE_FIRST_MS 500u
#define PAUSE_MAX_MS 30000u

/* Why a request failed. */
struct failure {
	bool passing;	   /* it can be temporary: repeat the request */
	uint64_t after_ms; /* how long the collector asks to wait; 0: it does
			      not say */
	int status;	   /* enum inv_exit */
	struct inv_buf text;
};

/* --- libcurl -------------------------------------------------------------- */

static size_t keep(char *p, size_t one, size_t n, void *arg)
{
	struct inv_sender *s = arg;
	size_t room = INV_ANSWER_MAX - s->reply.len;

	(void)one;
	inv_buf_put(&s->reply, p, n < room ? n : room);
	return n; /* the rest of the body is read, but not kept */
}

static int add_header(struct inv_sender *s, const char *line)
{
	struct curl_slist *more = curl_slist_append(s->headers, line);

	if (!more)
		return INV_ENOMEM;
	s->headers = more;
	return 0;
}

static int set_headers(struct inv_sender *s)
{
	int rc = add_header(s, "Content-Type: application/x-protobuf");

	/* Without this empty header, libcurl would wait for "100 Continue"
	 * before it sends the body. */
	if (!rc)
		rc = add_header(s, "Expect:");
	if (!rc && s->target->gzip)
		rc = add_header(s, "Content-Encoding: gzip");
	for (size_t i = 0; !rc && i < s->target->n_headers; i++)
		rc = add_header(s, s->target->headers[i].line);
	return rc;
}

static void set_options(struct inv_sender *s)
{
	const struct inv_target *t = s->target;
	CURL *c = s->curl;

	curl_easy_setopt(c, CURLOPT_URL, t->url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_POST, 1L);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, s->headers);
	curl_easy_setopt(c, CURLOPT_USERAGENT,
			 "OTel-OTLP-Exporter-inviso/" INV_VERSION);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)t->timeout_ms);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, s->text);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, s);
	if (t->insecure) {
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (t->ca) {
		curl_easy_setopt(c, CURLOPT_CAINFO, t->ca);
		curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	}
	if (t->cert)
		curl_easy_setopt(c, CURLOPT_SSLCERT, t->cert);
	if (t->key)
		curl_easy_setopt(c, CURLOPT_SSLKEY, t->key);
}

/* --- failures ------------------------------------------------------------- */

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* Returns true if the collector has ended the TLS connection with an alert that
 * the next attempt would get, too. libcurl reports an alert only in its message
 * `text'. With TLS 1.3, the alert about the client's certificate comes after
 * the handshake, as an error of sending or receiving. */
static bool is_refusal(const char *text)
{
	return has(text, " alert ") && !has(text, "alert internal error") &&
	       !has(text, "alert user cancel") &&
	       !has(text, "alert bad record mac");
}

/* Fills in *f for a TLS connection that the collector has refused or ended with
 * an alert. */
static void judge_alert(const struct inv_target *t, const char *text,
			struct failure *f)
{
	f->status = INV_EXIT_REFUSED;
	if (has(text, "protocol version"))
		return;
	inv_buf_puts(&f->text, t->cert ? "; the collector does not accept the "
					 "certificate of --cert" :
					 "; the collector may want a "
					 "certificate: --cert FILE");
}

/* Fills in *f for a TLS handshake that failed. An error of OpenSSL itself is
 * permanent. An error of the connection, or an alert, can be temporary. */
static void judge_handshake(const char *text, struct failure *f)
{
	if (has(text, "wrong version number"))
		inv_buf_puts(&f->text, "; the collector may use http, not "
				       "https");
	f->passing = !has(text, "SSL routines") ||
		     has(text, "unexpected eof") || has(text, " alert ");
}

/* Fills in *f if the connection failed, or was closed. */
static void judge_connection(struct inv_sender *s, CURLcode code,
			     struct failure *f)
{
	const char *text = *s->text ? s->text : curl_easy_strerror(code);

	inv_buf_printf(&f->text, "%s: %s", s->target->shown, text);
	f->status = INV_EXIT_UNREACHABLE;
	switch (code) {
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		if (is_refusal(text))
			judge_alert(s->target, text, f);
		else if (code == CURLE_SSL_CONNECT_ERROR)
			judge_handshake(text, f);
		else
			f->passing = true;
		break;
	case CURLE_SSL_CLIENTCERT:
		judge_alert(s->target, text, f);
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		f->passing = true;
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
		f->status = INV_EXIT_REFUSED;
		inv_buf_puts(&f->text, "; --ca FILE names the certificate of "
				       "an authority");
		break;
	case CURLE_OUT_OF_MEMORY:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_URL_MALFORMAT:
		f->status = INV_EXIT_FAILED;
		break;
	default:
		break;
	}
}

static bool is_json(CURL *c)
{
	const char *type = NULL;

	curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &type);
	return !type || !strstr(type, "protobuf");
}

/* Fills in *f if the collector answered with a status other than 2xx. */
static void judge_status(struct inv_sender *s, long status, struct failure *f)
{
	struct inv_answer a = { 0 };
	curl_off_t after = 0;

	inv_answer_read(&a, s->reply.data, s->reply.len, false,
			is_json(s->curl));
	inv_buf_printf(&f->text, "%s: the collector answered %ld",
		       s->target->shown, status);
	if (a.text.len)
		inv_buf_printf(&f->text, ": %.*s", (int)a.text.len,
			       (const char *)a.text.data);
	inv_buf_release(&a.text);
	f->passing = status == 429 || status == 502 || status == 503 ||
		     status == 504;
	f->status = f->passing			   ? INV_EXIT_UNREACHABLE :
		    status == 401 || status == 403 ? INV_EXIT_REFUSED :
						     INV_EXIT_FAILED;
	curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &after);
	if (f->passing && after > 0)
		f->after_ms = (uint64_t)after * 1000;
}

/* Reads an answer 2xx: the collector can have rejected some of the spans. */
static void take_answer(struct inv_sender *s, uint32_t spans)
{
	struct inv_answer a = { 0 };

	inv_answer_read(&a, s->reply.data, s->reply.len, true,
			is_json(s->curl));
	if (a.rejected > spans)
		a.rejected = spans;
	s->requests++;
	s->accepted += spans - a.rejected;
	s->rejected += a.rejected;
	if (a.text.len) {
		inv_buf_reset(&s->why);
		inv_buf_put(&s->why, a.text.data, a.text.len);
	}
	inv_buf_release(&a.text);
}

/* --- requests ------------------------------------------------------------- */

static int compress_body(struct inv_sender *s, const struct inv_buf *request)
{
	uint8_t *w;
	size_t most;

	inv_buf_reset(&s->body);
	deflateReset(&s->zip);
	most = deflateBound(&s->zip, request->len);
	w = inv_buf_reserve(&s->body, most);
	if (!w)
		return INV_ENOMEM;
	s->zip.next_in = request->data;
	s->zip.avail_in = (uInt)request->len;
	s->zip.next_out = w;
	s->zip.avail_out = (uInt)most;
	if (deflate(&s->zip, Z_FINISH) != Z_STREAM_END)
		return INV_ENOMEM;
	inv_buf_commit(&s->body, most - s->zip.avail_out);
	return 0;
}

/* Sends the request once. Returns true if the collector has accepted it. */
static bool post(struct inv_sender *s, const struct inv_buf *body,
		 struct failure *f)
{
	CURLcode code;
	long status = 0;

	inv_buf_reset(&s->reply);
	s->text[0] = 0;
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, (const char *)body->data);
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)body->len);
	code = curl_easy_perform(s->curl);
	if (code) {
		judge_connection(s, code, f);
		return false;
	}
	curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300)
		return true;
	judge_status(s, status, f);
	return false;
}

/* Shortens a pause by at most a quarter, so that two senders whose requests
 * failed at the same time do not repeat their requests at the same time. */
static uint64_t jitter(uint64_t ms)
{
	return ms - inv_mono_ns() / 1000 % (ms / 4 + 1);
}

static void say_retry(const struct inv_sender *s, const struct failure *f,
		      uint64_t ms)
{
	struct inv_buf b = { 0 };

	if (s->quiet)
		return;
	inv_units_put_ms(&b, ms);
	if (!b.error && !f->text.error)
		fprintf(stderr, "%sinviso export: %.*s; trying again in %.*s\n",
			isatty(STDERR_FILENO) ? "\r\033[K" : "",
			(int)f->text.len, (const char *)f->text.data,
			(int)b.len, (const char *)b.data);
	inv_buf_release(&b);
}

static int give_up(struct inv_sender *s, const struct failure *f,
		   struct inv_err *err)
{
	s->status = f->status;
	if (f->text.error)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	return inv_err_set(err, INV_EREMOTE,
			   "%.*s; %" PRIu64 " span(s) were accepted before",
			   (int)f->text.len, (const char *)f->text.data,
			   s->accepted);
}

/* Sends the request again and again, until the collector accepts it, or until
 * an error is not temporary or lasts too long. */
static int send_all(struct inv_sender *s, const struct inv_buf *body,
		    struct failure *f, struct inv_err *err)
{
	uint64_t next_ms = PAUSE_FIRST_MS;
	int64_t first_ms = 0;

	while (!post(s, body, f)) {
		uint64_t ms = f->after_ms ? f->after_ms : jitter(next_ms);
		int64_t now = inv_mono_ms();

		if (!first_ms)
			first_ms = now;
		if (!f->passing ||
		    (uint64_t)(now - first_ms) + ms > s->retry_ms)
			return give_up(s, f, err);
		say_retry(s, f, ms);
		inv_sleep_ms((unsigned)ms);
		s->retries++;
		next_ms = next_ms * 2 < PAUSE_MAX_MS ? next_ms * 2 :
						       PAUSE_MAX_MS;
		inv_buf_reset(&f->text);
		f->after_ms = 0;
		f->passing = false;
	}
	return 0;
}

static int take(struct inv_spans_taker *t, const struct inv_buf *request,
		uint32_t spans, struct inv_err *err)
{
	struct inv_sender *s = (struct inv_sender *)t;
	const struct inv_buf *body = request;
	struct failure f = { 0 };
	int rc;

	if (s->target->gzip) {
		if (compress_body(s, request))
			return inv_err_set(err, INV_ENOMEM, "no memory");
		body = &s->body;
	}
	rc = send_all(s, body, &f, err);
	inv_buf_release(&f.text);
	if (!rc)
		take_answer(s, spans);
	return rc;
}

/* --- the sender ----------------------------------------------------------- */

int inv_sender_init(struct inv_sender *s, const struct inv_target *target,
		    struct inv_err *err)
{
	s->target = target;
	s->taker.take = take;
	s->taker.attributes = target->attributes;
	s->taker.n_attributes = target->n_attributes;
	s->curl = curl_easy_init();
	/* If 16 is added to MAX_WBITS, zlib writes a gzip header. */
	s->zipped = deflateInit2(&s->zip, 1, Z_DEFLATED, MAX_WBITS + 16, 8,
				 Z_DEFAULT_STRATEGY) == Z_OK;
	if (!s->curl || !s->zipped || set_headers(s))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	set_options(s);
	return 0;
}

void inv_sender_release(struct inv_sender *s)
{
	if (s->curl)
		curl_easy_cleanup(s->curl);
	curl_slist_free_all(s->headers);
	if (s->zipped)
		deflateEnd(&s->zip);
	inv_buf_release(&s->body);
	inv_buf_release(&s->reply);
	inv_buf_release(&s->why);
}
