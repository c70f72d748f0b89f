/* clock.h - time for deadlines. Milliseconds of CLOCK_MONOTONIC, so clock jumps do not matter. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);
int64_t clock_us(void);

#endif
