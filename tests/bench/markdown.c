/* markdown.c - 1 MB of Markdown in 10,000 deltas, drawn; beside md4c alone on the same text. Prints CPU
 * milliseconds: all of it, its first and its second half, md4c alone.
 *
 *     markdown FILE...    the text, repeated until there is a megabyte
 */
#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/scrub.h"
#include "markdown/markdown.h"

#define SIZE   (1000 * 1000)
#define DELTAS 10000

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void draw(const struct buf *text, double ms[2])
{
    const struct markdown_options o = {.flow = {.width = 80, .colour = true, .many = true}};
    struct buf out = BUF_INIT(0), clean = BUF_INIT(0);
    struct markdown *m = markdown_new(&o, &out);
    size_t piece = text->len / DELTAS;
    struct scrub scrub;

    scrub_init(&scrub, SCRUB_TERMINAL);
    for (size_t half = 0; half < 2; half++) {
        double begun = cpu_ms();

        for (size_t i = half * DELTAS / 2; i < (half + 1) * DELTAS / 2; i++) {
            scrub_feed(&scrub, text->data + i * piece, piece, &clean);
            markdown_feed(m, buf_str(&clean), clean.len);
            buf_clear(&clean);
            buf_clear(&out); /* it was written */
        }
        ms[half] = cpu_ms() - begun;
    }
    markdown_end(m);
    markdown_free(m);
    buf_release(&out);
    buf_release(&clean);
}

static int no_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    (void)type;
    (void)detail;
    (void)ctx;
    return 0;
}

static int no_span(MD_SPANTYPE type, void *detail, void *ctx)
{
    (void)type;
    (void)detail;
    (void)ctx;
    return 0;
}

static int no_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *ctx)
{
    (void)type;
    (void)text;
    (void)size;
    (void)ctx;
    return 0;
}

static double parse(const struct buf *text)
{
    const MD_PARSER parser = {
        0,   MD_DIALECT_GITHUB | MD_FLAG_LATEXMATHSPANS, no_block, no_block, no_span, no_span, no_text, NULL,
        NULL};
    double begun = cpu_ms();

    md_parse(text->data, (MD_SIZE)text->len, &parser, NULL);
    return cpu_ms() - begun;
}

int main(int argc, char **argv)
{
    struct buf text = BUF_INIT(SIZE);
    struct error err = {0};
    double half[2];

    while (!text.full && argc > 1)
        for (int i = 1; i < argc && !text.full; i++) {
            struct buf one = BUF_INIT(SIZE);

            if (file_read(argv[i], SIZE, &one, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return 1;
            }
            buf_add(&text, one.data, one.len);
            buf_addstr(&text, "\n\n");
            buf_release(&one);
        }
    draw(&text, half);
    printf("%.1f %.1f %.1f %.1f\n", half[0] + half[1], half[0], half[1], parse(&text));
    buf_release(&text);
    return 0;
}
