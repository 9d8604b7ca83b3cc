/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a trace, which describe its packets and events to readers, in
 * TSDL. */
#include "base/version.h"
#include "log/event.h"
#include "sink/ctf_stream.h"

static const uint8_t fields[INV_TAG_COUNT] = {
	[INV_TAG_SEND] = INV_CTF_EXTRA,
	[INV_TAG_SEND_NO_PROC] = INV_CTF_EXTRA,
	[INV_TAG_CALL] = INV_CTF_FUNCTION | INV_CTF_RESULT,
	[INV_TAG_RETURN_TO] = INV_CTF_FUNCTION,
	[INV_TAG_RETURN_FROM] = INV_CTF_FUNCTION | INV_CTF_EXTRA |
				INV_CTF_DURATION,
	[INV_TAG_EXCEPTION_FROM] = INV_CTF_FUNCTION | INV_CTF_EXTRA |
				   INV_CTF_DURATION,
	[INV_TAG_SPAWN] = INV_CTF_FUNCTION | INV_CTF_EXTRA,
	[INV_TAG_SPAWNED] = INV_CTF_FUNCTION | INV_CTF_EXTRA,
	[INV_TAG_EXIT] = INV_CTF_FUNCTION | INV_CTF_DURATION,
	[INV_TAG_IN] = INV_CTF_FUNCTION,
	[INV_TAG_OUT] = INV_CTF_FUNCTION,
	[INV_TAG_IN_EXITING] = INV_CTF_FUNCTION,
	[INV_TAG_OUT_EXITING] = INV_CTF_FUNCTION,
	[INV_TAG_OUT_EXITED] = INV_CTF_FUNCTION,
	[INV_TAG_GC_MINOR_END] = INV_CTF_DURATION,
	[INV_TAG_GC_MAJOR_END] = INV_CTF_DURATION,
	[INV_TAG_OPEN] = INV_CTF_EXTRA,
	[INV_TAG_SEQ_TRACE] = INV_CTF_LABEL,
};

unsigned inv_ctf_fields(unsigned tag)
{
	return tag < INV_TAG_COUNT ? fields[tag] : INV_CTF_TAG;
}

static void put_class(struct inv_buf *b, const char *name, unsigned id)
{
	unsigned has = inv_ctf_fields(id);

	inv_buf_printf(b,
		       "event {\n"
		       "\tname = \"%s\"; id = %u; stream_id = 0;\n"
		       "\tfields := struct {\n"
		       "\t\tstring pid;\n"
		       "\t\tstring name;\n",
		       name, id);
	if (has & INV_CTF_TAG)
		inv_buf_puts(b, "\t\tstring tag;\n");
	if (has & INV_CTF_LABEL)
		inv_buf_puts(b, "\t\tstring label;\n");
	if (has & INV_CTF_FUNCTION)
		inv_buf_puts(b, "\t\tstring module;\n"
				"\t\tstring function;\n"
				"\t\tint64_t arity;\n");
	inv_buf_puts(b, "\t\tstring payload;\n");
	if (has & INV_CTF_EXTRA)
		inv_buf_puts(b, "\t\tstring extra;\n");
	if (has & INV_CTF_RESULT)
		inv_buf_puts(b, "\t\tstring result;\n");
	if (has & INV_CTF_DURATION)
		inv_buf_puts(b, "\t\tint64_t duration_ns;\n");
	inv_buf_puts(b, "\t};\n};\n");
}

static void put_types(struct inv_buf *b)
{
	static const char *const types[] = {
		"8",  "uint8_t",  "16", "uint16_t",
		"32", "uint32_t", "64", "uint64_t"
	};

	for (unsigned i = 0; i < 8; i += 2)
		inv_buf_printf(b,
			       "typealias integer { size = %s; align = 8; "
			       "signed = false; } := %s;\n",
			       types[i], types[i + 1]);
	inv_buf_puts(b, "typealias integer { size = 64; align = 8; "
			"signed = true; } := int64_t;\n");
}

static void put_trace(struct inv_buf *b, const uint8_t *uuid)
{
	inv_buf_puts(b, "trace {\n\tmajor = 1; minor = 8;\n\tuuid = \"");
	for (unsigned i = 0; i < 16; i++)
		inv_buf_printf(b, "%s%02x",
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			       uuid[i]);
	inv_buf_printf(b,
		       "\";\n"
		       "\tbyte_order = %s;\n"
		       "\tpacket.header := struct {\n"
		       "\t\tuint32_t magic;\n"
		       "\t\tuint8_t uuid[16];\n"
		       "\t\tuint32_t stream_id;\n"
		       "\t};\n"
		       "};\n"
		       "env {\n"
		       "\ttracer_name = \"inviso\";\n"
		       "\ttracer_version = \"%s\";\n"
		       "};\n",
		       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "le" : "be",
		       INV_VERSION);
}

static void put_stream(struct inv_buf *b)
{
	inv_buf_puts(
		b, "clock {\n"
		   "\tname = \"system\";\n"
		   "\tdescription = \"Erlang system time\";\n"
		   "\tfreq = 1000000000;\n"
		   "\toffset_s = 0;\n"
		   "\toffset = 0;\n"
		   "\tabsolute = true;\n"
		   "};\n"
		   "typealias integer { size = 64; align = 8; signed = false; "
		   "map = clock.system.value; } := time_t;\n"
		   "stream {\n"
		   "\tid = 0;\n"
		   "\tpacket.context := struct {\n"
		   "\t\ttime_t timestamp_begin;\n"
		   "\t\ttime_t timestamp_end;\n"
		   "\t\tuint64_t content_size;\n"
		   "\t\tuint64_t packet_size;\n"
		   "\t\tuint64_t events_discarded;\n"
		   "\t\tstring node;\n"
		   "\t};\n"
		   "\tevent.header := struct {\n"
		   "\t\tuint16_t id;\n"
		   "\t\ttime_t timestamp;\n"
		   "\t};\n"
		   "\tevent.context := struct {\n"
		   "\t\tint64_t earlier_ns;\n"
		   "\t};\n"
		   "};\n");
}

void inv_ctf_metadata(struct inv_buf *b, const uint8_t *uuid)
{
	inv_buf_puts(b, "/* CTF 1.8 */\n");
	put_types(b);
	put_trace(b, uuid);
	put_stream(b);
#define PUT_CLASS(tag, number, text) put_class(b, text, number);
	INV_TAGS(PUT_CLASS)
#undef PUT_CLASS
	put_class(b, "other", INV_TAG_OTHER);
}
