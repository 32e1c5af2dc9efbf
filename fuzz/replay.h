/*
 * The driver of a fuzz target that is not built with libFuzzer: replays the files named on the command line, whole.
 * Include it last, once, in the target's only file.
 */
#ifndef TL_FUZZ_REPLAY_H
#define TL_FUZZ_REPLAY_H

#ifndef TL_LIBFUZZER
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 0 = replayed; 1 = the file cannot be read. */
static int replay(const char *path) {
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, cap = 0, n;
    if (!f) {
        perror(path);
        return 1;
    }
    do {
        if (cap - size < 65536) {
            cap = cap * 2 + 65536;
            uint8_t *more = realloc(data, cap);
            if (!more) {
                perror(path);
                abort();
            }
            data = more;
        }
        n = fread(data + size, 1, 65536, f);
        size += n;
    } while (n > 0);
    (void)fclose(f);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i]);
    }
    printf("%d inputs replayed\n", argc - 1);
    return failed;
}
#endif

#endif
