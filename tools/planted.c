/*
 * Three planted mistakes, which clang-tidy must find in `make lint`. This shows
 * that no typing error in .clang-tidy has turned these checks off.
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
