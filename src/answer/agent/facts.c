/* facts.c - what is known of the attached files after the question they came with: the profile, for a model
 * that is stuck, and the lines that read the file. A small model sometimes assumes that these lines have run;
 * then they are put in front of its code, where the user sees them too.
 *
 * RULE: What is known of an attached file, and whether code has read it, is asked here.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "base/mem.h"
#include "conversation/language.h"

#define KNOWN_MAX 16   /* files; the latest are kept */
#define SHOWN_MAX 6000 /* bytes of profiles shown to a model that is stuck */

/* Put text between tags that it cannot close. */
void data_block(struct buf *out, const char *text)
{
    char end[32] = "</data";
    size_t len = strlen(text);

    for (unsigned n = 2; strstr(text, end); n++)
        snprintf(end, sizeof end, "</data-%u", n);
    while (len && text[len - 1] == '\n')
        len--;
    buf_addf(out, "<%s>\n%.*s\n%s>\n\n", end + 2, (int)len, text, end);
}

static void known_release(struct known_file *k)
{
    free(k->name);
    free(k->profile);
}

void facts_clear(struct agent *a)
{
    for (size_t i = 0; i < a->n_known; i++)
        known_release(&a->known[i]);
    free(a->known);
    a->known = NULL;
    a->n_known = 0;
}

void facts_add(struct agent *a, const char *name, const char *profile)
{
    size_t i = 0;

    while (i < a->n_known && strcmp(a->known[i].name, name) != 0)
        i++;
    if (i == a->n_known && i == KNOWN_MAX)
        i = 0;
    if (i < a->n_known) {
        known_release(&a->known[i]);
        memmove(a->known + i, a->known + i + 1, (--a->n_known - i) * sizeof *a->known);
    }
    a->known = xreallocarray(a->known, a->n_known + 1, sizeof *a->known);
    a->known[a->n_known++] = (struct known_file){xstrdup(name), xstrdup(profile), false, false};
}

void facts_show(const struct agent *a, struct buf *out)
{
    size_t first = a->n_known, total = 0;

    while (first && (total += strlen(a->known[first - 1].profile)) <= SHOWN_MAX)
        first--;
    for (size_t i = first; i < a->n_known; i++) {
        buf_addf(out, "\n\nWhat is in /mnt/data/%s:\n", a->known[i].name);
        data_block(out, a->known[i].profile);
        buf_trim(out, "\n");
    }
}

static size_t word_length(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || s[n] == '_' || (unsigned char)s[n] >= 0x80)
        n++;
    return n;
}

size_t assigned_name(const char *statement)
{
    size_t n = word_length(statement);

    return n && !isdigit((unsigned char)*statement) && !strncmp(statement + n, " = ", 3) ? n : 0;
}

/* Length of the statements at the beginning of a profile. */
static size_t code_length(const char *profile)
{
    size_t len = 0;

    for (;;) {
        const char *line = profile + len;
        size_t word = word_length(line);

        if (strncmp(line, languages[0].import, strlen(languages[0].import)) && !assigned_name(line)
            && !(word && line[word] == '[') && *line != ' '
            && strncmp(line, languages[0].loop, strlen(languages[0].loop)) != 0)
            return len;
        len += strcspn(line, "\n");
        if (!profile[len])
            return len;
        len++;
    }
}

bool facts_have_code(const char *profile)
{
    return code_length(profile) > 0;
}

/* Does this word of len bytes occur in the rest of the line? */
static bool in_line(const char *rest, const char *word, size_t len)
{
    while (*rest && *rest != '\n') {
        size_t n = word_length(rest);

        if (n == len && !strncmp(rest, word, n) && !strchr("./'\"", rest[-1]))
            return true;
        rest += n ? n : 1;
    }
    return false;
}

static bool binds(const char *code, const char *at, size_t len)
{
    const char *next = at + len + strspn(at + len, " ");

    if (*next == '=' && next[1] != '=')
        return !in_line(next, at, len); /* "df = df[...]" uses the old df */
    for (const char *const *before = languages[0].binders; *before; before++) {
        size_t n = strlen(*before);

        if ((size_t)(at - code) >= n && !strncmp(at - n, *before, n))
            return true;
    }
    return false;
}

enum use { UNUSED, USED, MADE };

/* How the code uses a name. A name that the code assigns anywhere is its own. */
static enum use use_of(const char *code, const char *name, size_t len)
{
    enum use use = UNUSED;

    for (const char *s = code; *s;) {
        size_t word = word_length(s);

        if (word == len && !strncmp(s, name, len) && (s == code || !strchr("./'\"", s[-1]))) {
            if (binds(code, s, len))
                return MADE;
            use = USED;
        }
        s += word ? word : 1;
    }
    return use;
}

/* How the code uses the names that this profile's lines assign. */
static enum use use_of_file(const struct known_file *k, const char *code)
{
    const char *end = k->profile + code_length(k->profile);
    enum use use = strstr(code, k->name) ? MADE : UNUSED;

    for (const char *s = k->profile; s < end && use != MADE; s += strcspn(s, ";\n"), s += strspn(s, "; \n")) {
        size_t len = assigned_name(s);
        enum use one = len ? use_of(code, s, len) : UNUSED;

        use = one > use ? one : use;
    }
    return use;
}

bool facts_last(const struct agent *a, const char *words)
{
    const char *profile = a->n_known ? a->known[a->n_known - 1].profile : "";
    autofree char *lines = xmemdup0(profile, code_length(profile));

    return strstr(lines, words) != NULL;
}

static void add_reading(struct buf *out, const char *profile)
{
    size_t len = code_length(profile);

    buf_add(out, profile, len);
    if (len && profile[len - 1] != '\n')
        buf_addch(out, '\n');
}

/* Code that has these lines itself, but not the import in front of them, gets that alone. */
static void add_imports(struct buf *out, const char *profile, const char *code)
{
    const char *end = profile + code_length(profile);

    for (const char *s = profile; s < end; s += strcspn(s, ";\n"), s += strspn(s, "; \n")) {
        size_t len = strcspn(s, ";\n");
        bool used = false;

        if (strncmp(s, languages[0].import, strlen(languages[0].import)) != 0)
            continue;
        for (size_t at = 0; at < len && !used; at++) {
            size_t name = 0;

            at += strcspn(s + at, ",;\n");
            while (word_length(s + at - name - 1))
                name++;
            used = use_of(code, s + at - name, name) == USED;
        }
        if (used && !memmem(buf_str(out), out->len, s, len))
            buf_addf(out, "%.*s\n", (int)len, s);
    }
}

/* Is this line one of those in the first bytes of the text? */
static bool has_line(const char *text, size_t size, const char *line, size_t len)
{
    const char *end = text + size;

    for (; text < end; text += strcspn(text, "\n"), text += *text == '\n')
        if (len && strcspn(text, "\n") == len && !strncmp(text, line, len))
            return true;
    return false;
}

static bool reads_file(const struct known_file *k, const char *line, size_t len)
{
    return has_line(k->profile, code_length(k->profile), line, len);
}

/* Append the code without the lines that stand in front of it already, and without those that change a column
 * and have run before. To read a file again is meant. */
static void add_new_lines(const struct agent *a, struct buf *out, const char *code)
{
    const size_t front = out->len;

    for (size_t len; *code; code += len) {
        bool again = false, column = code[word_length(code)] == '[';

        len = strcspn(code, "\n");
        for (size_t i = 0; i < a->n_known && !again; i++)
            again = a->known[i].ran && reads_file(&a->known[i], code, len)
                    && (column || has_line(buf_str(out), front, code, len));
        len += code[len] == '\n';
        if (!again)
            buf_add(out, code, len);
    }
}

/* How code uses a file that was not read. Where it has some of the lines that read it, but uses what they
 * make otherwise too, it is to have all of them. */
static enum use use_of_unread(const struct known_file *k, const char *code)
{
    struct buf rest autorelease(buf_release) = BUF_INIT(0);

    for (size_t len, at = 0; code[at]; at += len) {
        len = strcspn(code + at, "\n");
        if (!reads_file(k, code + at, len))
            buf_addf(&rest, "%.*s\n", (int)len, code + at);
        len += code[at + len] == '\n';
    }
    enum use use = use_of_file(k, buf_str(&rest));
    return use == UNUSED ? use_of_file(k, code) : use;
}

/* A model that copies lines that read a file means them to run once: a second time they would find numbers
 * where the text was. */
char *facts_with_reading(struct agent *a, const char *code)
{
    struct buf out = BUF_INIT(0);

    for (size_t i = 0; i < a->n_known; i++) {
        struct known_file *k = &a->known[i];
        enum use use = k->read ? use_of_file(k, code) : use_of_unread(k, code);
        bool run = use == USED && !k->read;

        if (run)
            add_reading(&out, k->profile);
        else if (use == MADE && !k->read)
            add_imports(&out, k->profile, code);
        k->read |= use != UNUSED;
        k->ran = run || (k->ran && use != MADE);
    }
    add_new_lines(a, &out, code);
    return buf_steal(&out, NULL);
}

void facts_forget_variables(struct agent *a)
{
    for (size_t i = 0; i < a->n_known; i++)
        a->known[i].read = a->known[i].ran = false;
}
