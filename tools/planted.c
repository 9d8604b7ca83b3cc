/*
 * Three faults on purpose. `make lint` requires clang-tidy to find them: a
 * check that a typing error switched off would otherwise go unnoticed.
 */
#include <stdlib.h>
#include <string.h>

int planted(const char *text, size_t n)
{
	char *buf = malloc(n);
	int value = atoi(text);

	if (!buf)
		return 0;
	if (strcmp(text, "x"))
		value++;
	buf = realloc(buf, 2 * n + (size_t)value);
	return buf ? buf[0] : value;
}
