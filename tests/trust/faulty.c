/* Preloaded before the C library: lets one write, sync or rename of an ordinary file fail, or counts them.
   SQLite writes in C, where no patch of Python's `os` reaches. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING, WRITE, SYNC, RENAME, TRUNCATE };
static int armed = NOTHING, number = 0, before = 0;
static long counted = 0;

/* The call number `at` (from 0) of this kind will fail with `error`; with error 0 they are only counted. */
void faulty_arm(int kind, int at, int error) { armed = kind; before = at; number = error; counted = 0; }
long faulty_count(void) { return counted; }

static int fails(int kind, int descriptor) {
    struct stat found;
    if (kind != armed) return 0;
    if (descriptor >= 0 && (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode))) return 0;
    if (counted++ != before || number == 0) return 0;
    errno = number;
    return 1;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

ssize_t write(int fd, const void *data, size_t size) {
    if (fails(WRITE, fd)) return -1;
    return REAL("write", ssize_t (*)(int, const void *, size_t))(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    if (fails(WRITE, fd)) return -1;
    return REAL("pwrite", ssize_t (*)(int, const void *, size_t, off_t))(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    if (fails(WRITE, fd)) return -1;
    return REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off64_t))(fd, data, size, at);
}
int fsync(int fd) {
    if (fails(SYNC, fd)) return -1;
    return REAL("fsync", int (*)(int))(fd);
}
int fdatasync(int fd) {
    if (fails(SYNC, fd)) return -1;
    return REAL("fdatasync", int (*)(int))(fd);
}
int ftruncate(int fd, off_t size) {
    if (fails(TRUNCATE, fd)) return -1;
    return REAL("ftruncate", int (*)(int, off_t))(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    if (fails(TRUNCATE, fd)) return -1;
    return REAL("ftruncate64", int (*)(int, off64_t))(fd, size);
}
int rename(const char *from, const char *to) {
    if (fails(RENAME, -1)) return -1;
    return REAL("rename", int (*)(const char *, const char *))(from, to);
}
