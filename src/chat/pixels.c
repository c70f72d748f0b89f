/* pixels.c - see pixels.h. */
#include "chat/pixels.h"

#include <stdlib.h>

void pixels_release(struct pixels *p)
{
    free(p->rgb);
    *p = (struct pixels){0};
}
