/* pixels.h - a decoded image: raw RGB, row by row, three bytes a pixel. The sandbox decodes (an image file is
 * hostile, and this process holds the keys), show draws it.
 */
#ifndef CHAT_PIXELS_H
#define CHAT_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIXELS_WIDTH_MAX  1600
#define PIXELS_HEIGHT_MAX 1200
#define PIXELS_TEXTS_MAX  65536 /* bytes */

/* What is wanted: the image, scaled down to fit into width x height and never scaled up; transparent parts
 * get the colour background (0xRRGGBB). texts: for a screen of characters, so if the image is a figure whose
 * texts the sandbox knows, a picture of it without them is wanted, of any size up to the limits. */
struct pixels_ask {
    unsigned width, height; /* at least 1, at most the limits above */
    uint32_t background;
    bool texts;
    const char *name; /* what errors call it */
    const char *path; /* on this machine; or NULL */
    int fd;           /* the file itself, where it is open */
};

struct pixels {
    unsigned width, height;
    unsigned char *rgb; /* width * height * 3 bytes, owned; NULL: none */
    char *texts;        /* those that are not in the picture (show/figure_texts.h), as they came; owned */
    size_t texts_len;
};

void pixels_release(struct pixels *p);

#endif
