/* pixels.c - frees an image. */
#include "conversation/pixels.h"

#include <stdlib.h>

void pixels_release(struct pixels *p)
{
    free(p->rgb);
    free(p->texts);
    *p = (struct pixels){0};
}
