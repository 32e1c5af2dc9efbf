/*
 * footer_tool LIBRARY OUT: makes a loadable extension of a shared library by putting behind it the 534 bytes that
 * DuckDB looks for: a WebAssembly custom section's head, eight fields of 32 bytes in reverse order, a signature of
 * zeros.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FIELD = 32, FIELDS = 8, SIGNATURE = 256 };

#if defined(__aarch64__)
#define PLATFORM "linux_arm64"
#else
#define PLATFORM "linux_amd64"
#endif

static int copy(FILE *from, FILE *to) {
    static char block[1 << 16];
    for (size_t n; (n = fread(block, 1, sizeof block, from)) > 0;) {
        if (fwrite(block, 1, n, to) != n) {
            return -1;
        }
    }
    return ferror(from) ? -1 : 0;
}

static int put_footer(FILE *to) {
    static const unsigned char head[] = {0x00, 0x93, 0x04, 0x10, 'd', 'u', 'c', 'k', 'd', 'b',  '_',
                                         's',  'i',  'g',  'n',  'a', 't', 'u', 'r', 'e', 0x80, 0x04};
    /* nothing x 3, which ABI, our version, which C API, the platform, the footer's own version */
    static const char *const fields[FIELDS] = {"", "", "", "C_STRUCT", ("v" TL_BUILD_VERSION), "v1.2.0", PLATFORM, "4"};
    static char bytes[FIELD * FIELDS + SIGNATURE];
    for (size_t i = 0; i < FIELDS; i++) {
        if (strlen(fields[i]) > FIELD) {
            return -1;
        }
        memcpy(bytes + i * FIELD, fields[i], strlen(fields[i]));
    }
    return fwrite(head, sizeof head, 1, to) == 1 && fwrite(bytes, sizeof bytes, 1, to) == 1 ? 0 : -1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: footer_tool LIBRARY OUT\n");
        return 2;
    }
    FILE *from = fopen(argv[1], "rb"), *to = from ? fopen(argv[2], "wb") : NULL;
    int bad = !from || !to || copy(from, to) != 0 || put_footer(to) != 0;
    bad |= to && fclose(to) != 0;
    if (bad) {
        fprintf(stderr, "footer_tool: %s to %s: %s\n", argv[1], argv[2], strerror(errno));
    }
    if (from) {
        fclose(from);
    }
    return bad;
}
