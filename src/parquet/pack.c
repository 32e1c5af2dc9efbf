/*
 * Bit packing. Comes in: groups of 8 small numbers. Goes out: `width` bytes a group, least significant bit first.
 * One loop per width: with the width a constant the compiler unrolls a group into shifts, ors and whole stores.
 */
#include "parquet/write_internal.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* One group. Bits gather in `acc`; each full word is stored, and the rest is stored as a word too, into the bytes that
 * the next group overwrites (hence the slack). */
#define PACK_GROUP(in, width, out)                                                                                     \
    do {                                                                                                               \
        uint64_t acc_ = 0;                                                                                             \
        unsigned used_ = 0;                                                                                            \
        uint8_t *at_ = (out);                                                                                          \
        for (unsigned i_ = 0; i_ < 8; i_++) {                                                                          \
            uint64_t v_ = (in)[i_];                                                                                    \
            acc_ |= v_ << used_;                                                                                       \
            used_ += (width);                                                                                          \
            if (used_ >= 64) {                                                                                         \
                tl_store_u64(at_, acc_);                                                                               \
                at_ += 8;                                                                                              \
                used_ -= 64;                                                                                           \
                acc_ = used_ ? v_ >> ((width)-used_) : 0;                                                              \
            }                                                                                                          \
        }                                                                                                              \
        if (used_) {                                                                                                   \
            tl_store_u64(at_, acc_);                                                                                   \
        }                                                                                                              \
    } while (0)

ALWAYS_INLINE void pack_u32(const uint32_t *in, size_t groups, const unsigned width, uint8_t *out) {
    for (size_t g = 0; g < groups; g++, in += 8, out += width) {
        PACK_GROUP(in, width, out);
    }
}

ALWAYS_INLINE void pack_u64(const uint64_t *in, size_t groups, const unsigned width, uint8_t *out) {
    for (size_t g = 0; g < groups; g++, in += 8, out += width) {
        PACK_GROUP(in, width, out);
    }
}

#define EACH_8(m, from) m(from + 1) m(from + 2) m(from + 3) m(from + 4) m(from + 5) m(from + 6) m(from + 7) m(from + 8)
#define CASE_U32(w)                                                                                                    \
    case w:                                                                                                            \
        pack_u32(in, groups, w, out);                                                                                  \
        break;
#define CASE_U64(w)                                                                                                    \
    case w: pack_u64(in, groups, w, out); break;

void tl_pq_pack_u32(const uint32_t *in, size_t groups, unsigned width, uint8_t *out) {
    switch (width) {
        EACH_8(CASE_U32, 0)
        EACH_8(CASE_U32, 8)
        EACH_8(CASE_U32, 16)
        EACH_8(CASE_U32, 24)
    default: break;
    }
}

void tl_pq_pack_u64(const uint64_t *in, size_t groups, unsigned width, uint8_t *out) {
    switch (width) {
        EACH_8(CASE_U64, 0)
        EACH_8(CASE_U64, 8)
        EACH_8(CASE_U64, 16)
        EACH_8(CASE_U64, 24)
        EACH_8(CASE_U64, 32)
        EACH_8(CASE_U64, 40)
        EACH_8(CASE_U64, 48)
        EACH_8(CASE_U64, 56)
    default: break;
    }
}
