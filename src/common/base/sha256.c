/* sha256.c - computes the digest of bytes and writes it as hex. */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct sha256 {
    uint32_t state[8];
    uint64_t len;
    unsigned char rest[64]; /* of a block that is not full */
};

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void expand(const unsigned char block[64], uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16
               | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[i - 7]
               + (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
}

static void add_block(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64], v[8]; /* v: a to h */

    expand(block, w);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t one = v[7] + (rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25))
                       + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
        uint32_t two = (rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22))
                       + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

        memmove(v + 1, v, 7 * sizeof *v);
        v[0] = one + two;
        v[4] += one;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

static void digest_begin(struct sha256 *s)
{
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };

    s->len = 0;
    memcpy(s->state, start, sizeof start);
}

static void digest_add(struct sha256 *s, const void *data, size_t len)
{
    const unsigned char *p = data;

    while (len > 0) {
        size_t have = s->len % 64, n = 64 - have < len ? 64 - have : len;

        s->len += n;
        if (n == 64) {
            add_block(s->state, p);
        } else {
            memcpy(s->rest + have, p, n);
            if (have + n == 64)
                add_block(s->state, s->rest);
        }
        p += n;
        len -= n;
    }
}

static void digest_end(struct sha256 *s, char out[SHA256_HEX])
{
    unsigned char last[72] = {0x80};
    uint64_t bits = s->len * 8;
    size_t n = 64 - s->len % 64;

    n = n < 9 ? n + 64 : n; /* up to the end of a block, the length in its last 8 bytes */
    for (size_t i = 0; i < 8; i++)
        last[n - 1 - i] = (unsigned char)(bits >> (8 * i));
    digest_add(s, last, n);
    for (int i = 0; i < SHA256_HEX - 1; i++)
        out[i] = "0123456789abcdef"[s->state[i / 8] >> (28 - i % 8 * 4) & 15];
    out[SHA256_HEX - 1] = '\0';
}

void sha256_hex(const void *data, size_t len, char out[SHA256_HEX])
{
    struct sha256 s;

    digest_begin(&s);
    digest_add(&s, data, len);
    digest_end(&s, out);
}

int sha256_file(int fd, char out[SHA256_HEX], int64_t *size)
{
    struct sha256 s;
    char piece[65536];
    ssize_t n;

    digest_begin(&s);
    while ((n = pread(fd, piece, sizeof piece, (off_t)s.len)) > 0)
        digest_add(&s, piece, (size_t)n);
    if (size)
        *size = (int64_t)s.len;
    digest_end(&s, out);
    return n < 0 ? -1 : 0;
}
