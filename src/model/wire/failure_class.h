/* failure_class.h - which class an error of a service is of, from what failure.c read of it. */
#ifndef WIRE_FAILURE_CLASS_H
#define WIRE_FAILURE_CLASS_H

#include "wire/failure.h"

/* What an error says besides its status, code and message. */
struct failure_evidence {
    const char *type, *param;     /* param may be NULL */
    const struct json *j;         /* the whole body; may be NULL */
    const struct failure_head *h; /* may be NULL */
};

/* f has status, code and message; its param and context are set where the error names them. */
enum failure_class failure_classify(struct failure *f, const struct failure_evidence *e);

#endif
