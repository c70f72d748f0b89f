/* fuzz_client_hello.c - the first message of a tunnel, as hostile code sends it: a name is a whole string,
 * and what was judged stays so, whatever follows it.
 */
#include "tests/fuzz/fuzz.h"

#include "proxy/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = fuzz_exact(data, size), name[HOST_SIZE], before[HOST_SIZE];
    enum hello_state whole = hello_read((unsigned char *)s, size, name);

    check(memchr(name, 0, sizeof name) != NULL);
    check(whole != HELLO_MORE || size < HELLO_MAX);
    if (size > 0 && size <= 256) {
        enum hello_state part = hello_read((unsigned char *)s, size - 1, before);
        check(part == HELLO_MORE || (part == whole && strcmp(name, before) == 0));
    }
    free(s);
    return 0;
}
