/*
 * The common cases of printing numbers and times, several times faster than base/num.h's general ones and with the same
 * text: results of millions of rows are written with these. Each returns the length, or 0 = not such a case. Pure.
 */
#ifndef TL_CLI_FAST_TEXT_H
#define TL_CLI_FAST_TEXT_H

#include "base/base.h"

/* Values between 1e-4 and 1e15 (float: 1e6, and up to 6 digits). */
size_t tl_fast_double(double v, char *out);
size_t tl_fast_float(float v, char *out);
/* Microseconds in the years 0 to 9999. */
size_t tl_fast_timestamp(int64_t us, bool utc, char *out);

#endif
