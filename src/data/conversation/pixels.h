/* pixels.h - a decoded image: raw RGB, row by row, three bytes a pixel. The sandbox decodes (an image file is
 * hostile, and this process holds the keys), the agent hands it on with EVENT_FILE, show draws it.
 */
#ifndef CHAT_PIXELS_H
#define CHAT_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#define PIXELS_WIDTH_MAX  1600
#define PIXELS_HEIGHT_MAX 1200

/* What is wanted: the image, scaled down to fit into width x height and never scaled up; transparent parts
 * get the colour background (0xRRGGBB). */
struct pixels_ask {
    unsigned width, height; /* at least 1, at most the limits above */
    uint32_t background;
    const char *name; /* what errors call it */
    const char *path; /* on this machine; or NULL */
    int fd;           /* the file itself, where it is open */
};

struct pixels {
    unsigned width, height; /* at most what was asked for */
    unsigned char *rgb;     /* width * height * 3 bytes, owned; NULL: none */
};

void pixels_release(struct pixels *p);

#endif
