/* size.h - prints sizes for people to read. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* "64 MiB", "1.5 GiB"; returns out. */
char *size_text(int64_t bytes, char *out, size_t size);

#endif
