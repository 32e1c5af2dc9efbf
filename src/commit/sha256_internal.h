/* SHA-256 (FIPS 180-4). Comes in: bytes. Goes out: 32 bytes. For names that must stay the same for ever. */
#ifndef TL_COMMIT_SHA256_INTERNAL_H
#define TL_COMMIT_SHA256_INTERNAL_H

#include "base/base.h"

void tl_sha256(tl_bytes data, uint8_t out[32]);

#endif
