/* agree.h - do two answers to one question say the same? Pure; texts are untrusted. */
#ifndef PROVENANCE_AGREE_H
#define PROVENANCE_AGREE_H

#include "conversation/event.h"

/* Numbers decide: those of the answer that has fewer must all be in the other, as far as both are rounded;
 * those of the question do not count. Without numbers the words must be the same, or a few be contained in
 * the other's. UNCLEAR: both are longer prose without numbers. */
enum verified answers_agree(const char *question, const char *first, const char *second);

#endif
