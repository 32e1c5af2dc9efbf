/* Listing folders of the local disk, and clearing away what killed writers left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/local_internal.h"

enum { DEPTH_MAX = 64 };

typedef struct found {
    char *key; /* folders end in '/' */
    uint64_t size;
    int64_t modified_us;
} found;

typedef struct listing {
    tl_local *store;
    bool recursive;
    bool with_temporary; /* for pruning: temporary files and folders too */
    found *items;
    size_t n, cap;
} listing;

static void listing_free(listing *s) {
    for (size_t i = 0; i < s->n; i++) {
        tl_free(s->items[i].key);
    }
    tl_free(s->items);
}

static tl_status listing_add(listing *s, char *key, const struct stat *st, tl_error *err) {
    if (key && s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        found *items = tl_realloc_array(s->items, cap, sizeof *items);
        if (!items) {
            tl_free(key);
            key = NULL;
        } else {
            s->items = items;
            s->cap = cap;
        }
    }
    if (!key) {
        return tl_fail_memory(err, sizeof(found));
    }
    s->items[s->n++] = (found){key, st ? (uint64_t)st->st_size : 0,
                               st ? (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000 : 0};
    return TL_OK;
}

static tl_status list_folder(listing *s, const char *folder, int depth, tl_error *err);

static tl_status list_entry(listing *s, int fd, const char *folder, const char *name, int depth, tl_error *err) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return TL_OK;
    }
    bool temporary = tl_local_is_temporary(name);
    struct stat st;
    /* A recursive listing does not follow symbolic links to folders: what lies there is not below the root. */
    if ((temporary && !s->with_temporary) || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return TL_OK; /* vanished between readdir and here */
    }
    bool link = S_ISLNK(st.st_mode);
    if (link && fstatat(fd, name, &st, 0) != 0) {
        return TL_OK;
    }
    const char *slash = *folder ? "/" : "";
    if (S_ISREG(st.st_mode)) {
        return listing_add(s, tl_format("%s%s%s", folder, slash, name), &st, err);
    }
    if (!S_ISDIR(st.st_mode) || (link && s->recursive)) {
        return TL_OK;
    }
    if (!s->recursive || s->with_temporary) {
        TL_TRY(listing_add(s, tl_format("%s%s%s/", folder, slash, name), &st, err));
    }
    if (!s->recursive) {
        return TL_OK;
    }
    char *below = tl_format("%s%s%s", folder, slash, name);
    if (!below) {
        return tl_fail_memory(err, strlen(folder));
    }
    tl_status status = list_folder(s, below, depth + 1, err);
    tl_free(below);
    return status;
}

/* A folder that is not there has no objects. */
static tl_status list_folder(listing *s, const char *folder, int depth, tl_error *err) {
    if (depth > DEPTH_MAX) {
        return tl_fail(err, TL_IO, "%s/%s: folders are nested more than %d deep", s->store->base.root_uri + 7, folder,
                       DEPTH_MAX);
    }
    int fd = openat(s->store->root, *folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int code = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return code == ENOENT || code == ENOTDIR ? TL_OK : tl_local_fail(s->store, folder, code, err);
    }
    tl_status status = TL_OK;
    while (status == TL_OK) {
        errno = 0;
        struct dirent *e = readdir(dir);
        if (!e) {
            status = errno ? tl_local_fail(s->store, folder, errno, err) : TL_OK;
            break;
        }
        status = list_entry(s, fd, folder, e->d_name, depth, err);
    }
    (void)closedir(dir);
    return status;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const found *)a)->key, ((const found *)b)->key);
}

tl_status tl_local_list(tl_store *self, const char *prefix, bool recursive, tl_list_visit visit, void *ctx,
                        tl_error *err) {
    listing s = {.store = (tl_local *)self, .recursive = recursive};
    tl_status status = list_folder(&s, prefix, 0, err);
    if (status == TL_OK && s.n) {
        qsort(s.items, s.n, sizeof *s.items, by_key);
    }
    for (size_t i = 0; status == TL_OK && i < s.n; i++) {
        status = visit(ctx, &(tl_object_info){s.items[i].key, s.items[i].size, s.items[i].modified_us}, err);
    }
    listing_free(&s);
    return status;
}

void tl_local_prune(tl_store *self, const char *prefix, int64_t age_us) {
    tl_local *l = (tl_local *)self;
    listing s = {.store = l, .recursive = true, .with_temporary = true};
    int64_t before = tl_env_now_us(self->env) - age_us;
    if (list_folder(&s, prefix, 0, NULL) == TL_OK && s.n) {
        qsort(s.items, s.n, sizeof *s.items, by_key);
        for (size_t i = s.n; i-- > 0;) { /* deepest first: what is in a folder sorts after it */
            char *key = s.items[i].key;
            size_t len = strlen(key);
            const char *slash = strrchr(key, '/');
            if (s.items[i].modified_us > before) {
                continue;
            }
            if (len && key[len - 1] == '/') {
                key[len - 1] = '\0';
                (void)unlinkat(l->root, key, AT_REMOVEDIR); /* fails when something is in it */
            } else if (tl_local_is_temporary(slash ? slash + 1 : key)) {
                (void)unlinkat(l->root, key, 0);
            }
        }
    }
    listing_free(&s);
    if (*prefix) {
        struct stat st;
        if (fstatat(l->root, prefix, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
            (int64_t)st.st_mtim.tv_sec * 1000000 <= before) {
            (void)unlinkat(l->root, prefix, AT_REMOVEDIR);
        }
    }
}
