/* json_write.c - prints a tree. cJSON's own printer takes five times as long: it asks for each number
 * whether it reads back as the same.
 */
#include "json/private.h"

#include <cjson/cJSON.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 4096 /* bytes of a string at a time */
#define LARGE 1e15 /* below this, a whole number is printed as one: cJSON's %1.15g does the same */

/* Writes the escape of a character that needs one. Returns its length. */
static size_t escape_char(unsigned char c, char *to)
{
    static const char letters[256] = {
        ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    static const char hex[] = "0123456789abcdef";

    to[0] = '\\';
    if (letters[c]) {
        to[1] = letters[c];
        return 2;
    }
    memcpy(to + 1, "u00", 3);
    to[4] = hex[c >> 4];
    to[5] = hex[c & 15];
    return 6;
}

static void write_string(const char *s, struct buf *out)
{
    size_t len = strlen(s);

    buf_space(out, len + 2);
    buf_addch(out, '"');
    while (len > 0) {
        size_t n = json_plain_span(s, len), e = 0;

        buf_add(out, s, n);
        s += n;
        len -= n;
        if (len == 0)
            break;
        /* Characters that need an escape come in swarms. */
        size_t most = len < PIECE ? len : PIECE;
        char *to = buf_space(out, 6 * most);
        for (n = 0; n < most; n++) {
            unsigned char c = (unsigned char)s[n];
            if (c < ' ' || c == '"' || c == '\\')
                e += escape_char(c, to + e);
            else
                to[e++] = s[n];
        }
        out->len += e;
        buf_end(out);
        s += n;
        len -= n;
    }
    buf_addch(out, '"');
}

static void write_number(double v, struct buf *out)
{
    char text[32];

    if (!isfinite(v)) {
        buf_addstr(out, "null");
        return;
    }
    if (v == (double)(long long)v && fabs(v) < LARGE && !(v == 0 && signbit(v))) {
        buf_addf(out, "%lld", (long long)v);
        return;
    }
    snprintf(text, sizeof text, "%1.15g", v);
    if (strtod(text, NULL) != v)
        snprintf(text, sizeof text, "%1.17g", v);
    char *point = strchr(text, localeconv()->decimal_point[0]);
    if (point)
        *point = '.';
    buf_addstr(out, text);
}

static void write_members(const cJSON *c, bool object, struct buf *out)
{
    buf_addch(out, object ? '{' : '[');
    for (const cJSON *m = c->child; m != NULL; m = m->next) {
        if (object) {
            write_string(m->string, out);
            buf_addch(out, ':');
        }
        json_write(m, out);
        if (m->next)
            buf_addch(out, ',');
    }
    buf_addch(out, object ? '}' : ']');
}

/* As deep as the tree is. */
void json_write(const struct cJSON *c, struct buf *out)
{
    switch (c ? c->type & 0xff : cJSON_NULL) {
    case cJSON_False:
        buf_addstr(out, "false");
        break;
    case cJSON_True:
        buf_addstr(out, "true");
        break;
    case cJSON_Number:
        write_number(c->valuedouble, out);
        break;
    case cJSON_Raw:
        buf_addstr(out, c->valuestring);
        break;
    case cJSON_String:
        write_string(c->valuestring, out);
        break;
    case cJSON_Array:
    case cJSON_Object:
        write_members(c, (c->type & 0xff) == cJSON_Object, out);
        break;
    default:
        buf_addstr(out, "null");
        break;
    }
}
