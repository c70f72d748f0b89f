/* size.h - prints sizes and large numbers for people to read. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* "64 MiB", "1.5 GiB"; returns out. */
char *size_text(int64_t bytes, char *out, size_t size);
/* "1,234,567" */
void count_text(int64_t n, char out[32]);

#endif
