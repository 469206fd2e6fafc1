/* A library that makes one call of the C library fail in the process it is preloaded into: the
 * FAULT_AT-th of those that can fail as FAULT_KIND says. Other programs are left alone. At the end
 * the number of such calls is written to FAULT_COUNT. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORT = 1, DISK = 2, INTR = 4, MEMORY = 8, FILES = 16, AGAIN = 32, KILLED = 64 };

static _Atomic long calls;
static long at = -1;
static int kind;
static const char *count_file;
static int is_on;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("FAULT_KIND");
    if (!text || strcmp(program_invocation_short_name, "heddle") != 0)
        return;
    kind = atoi(text);
    at = atol(getenv("FAULT_AT") ? getenv("FAULT_AT") : "-1");
    count_file = getenv("FAULT_COUNT");
    is_on = 1;
}

static pid_t victim(void) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)syscall(SYS_gettid));
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (file < 0)
        return 0;
    long len = syscall(SYS_read, file, line, sizeof line - 1);
    syscall(SYS_close, file);
    line[len > 0 ? len : 0] = 0;
    return atoi(line);
}

/* Whether this call is the one that fails; sets errno. */
static int fails(int kinds) {
    int saved = errno;
    if (!is_on || !(kinds & kind))
        return 0;
    if (atomic_fetch_add(&calls, 1) != at) {
        errno = saved;
        return 0;
    }
    switch (kind) {
    case DISK: errno = ENOSPC; break;
    case INTR: errno = EINTR; break;
    case MEMORY: errno = ENOMEM; break;
    case FILES: errno = EMFILE; break;
    case AGAIN: errno = EAGAIN; break;
    case KILLED: {
        pid_t child = victim();
        if (child > 0)
            syscall(SYS_kill, child, SIGKILL);
        errno = saved;
        return 0;
    }
    default: errno = saved;
    }
    return 1;
}

/* A fork of the controller must not write the count. */
static pid_t owner;
__attribute__((constructor)) static void own(void) { owner = getpid(); }

__attribute__((destructor)) static void end(void) {
    if (!is_on || !count_file || getpid() != owner)
        return;
    char text[32];
    int len = snprintf(text, sizeof text, "%ld", (long)calls);
    int file = syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    syscall(SYS_write, file, text, len);
    syscall(SYS_close, file);
}

#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (!real)                                                                                     \
        real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *bytes, size_t len) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (fails(SHORT | DISK | INTR | KILLED)) {
        if (kind != SHORT)
            return -1;
        len = len > 1 ? len / 2 : len;
    }
    return real(file, bytes, len);
}

ssize_t read(int file, void *bytes, size_t len) {
    REAL(ssize_t, read, int, void *, size_t);
    if (fails(SHORT | INTR | KILLED)) {
        if (kind != SHORT)
            return -1;
        len = len > 1 ? len / 2 : len;
    }
    return real(file, bytes, len);
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        REAL(int, name, const char *, int, mode_t);                                                \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        int kinds = INTR | MEMORY | FILES | KILLED | (flags & O_CREAT ? DISK : 0);                 \
        return fails(kinds) ? -1 : real(path, flags, mode);                                        \
    }
OPEN(open)
OPEN(open64)

#define PLAIN(result, failed, name, kinds, types, names)                                           \
    result name types {                                                                            \
        static result(*real) types;                                                                \
        if (!real)                                                                                 \
            real = (result(*) types)dlsym(RTLD_NEXT, #name);                                       \
        return fails(kinds) ? failed : real names;                                                 \
    }
PLAIN(int, -1, fsync, DISK | INTR, (int file), (file))
PLAIN(int, -1, fdatasync, DISK | INTR, (int file), (file))
PLAIN(int, -1, rename, DISK | MEMORY, (const char *a, const char *b), (a, b))
PLAIN(int, -1, link, DISK | MEMORY, (const char *a, const char *b), (a, b))
PLAIN(int, -1, linkat, DISK | MEMORY, (int c, const char *a, int d, const char *b, int e),
      (c, a, d, b, e))
PLAIN(int, -1, mkdir, DISK | MEMORY, (const char *a, mode_t b), (a, b))
PLAIN(int, -1, ftruncate64, DISK | INTR | MEMORY, (int a, off64_t b), (a, b))
PLAIN(int, -1, memfd_create, MEMORY | FILES, (const char *a, unsigned b), (a, b))
PLAIN(int, -1, fallocate64, DISK | INTR | MEMORY, (int a, int b, off64_t c, off64_t d), (a, b, c, d))
PLAIN(void *, MAP_FAILED, mmap64, MEMORY, (void *a, size_t b, int c, int d, int e, off64_t f),
      (a, b, c, d, e, f))
PLAIN(pid_t, -1, fork, MEMORY | AGAIN | KILLED, (void), ())
PLAIN(int, -1, pipe2, FILES, (int a[2], int b), (a, b))
PLAIN(int, -1, socketpair, FILES | MEMORY, (int a, int b, int c, int d[2]), (a, b, c, d))
PLAIN(int, -1, socket, FILES | MEMORY, (int a, int b, int c), (a, b, c))
PLAIN(pid_t, -1, waitpid, INTR | KILLED, (pid_t a, int *b, int c), (a, b, c))
PLAIN(ssize_t, -1, process_vm_readv, MEMORY | KILLED,
      (pid_t a, const struct iovec *b, unsigned long c, const struct iovec *d, unsigned long e,
       unsigned long f),
      (a, b, c, d, e, f))
PLAIN(ssize_t, -1, process_vm_writev, MEMORY | KILLED,
      (pid_t a, const struct iovec *b, unsigned long c, const struct iovec *d, unsigned long e,
       unsigned long f),
      (a, b, c, d, e, f))
PLAIN(ssize_t, -1, pread64, INTR | MEMORY | KILLED, (int a, void *b, size_t c, off64_t d),
      (a, b, c, d))
PLAIN(ssize_t, -1, pwrite64, DISK | INTR, (int a, const void *b, size_t c, off64_t d), (a, b, c, d))
PLAIN(ssize_t, -1, writev, DISK | INTR, (int a, const struct iovec *b, int c), (a, b, c))
/* If it fails otherwise, Rust's library waits for the end of the process that it has just started. */
PLAIN(ssize_t, -1, recv, INTR | KILLED, (int a, void *b, size_t c, int d), (a, b, c, d))
PLAIN(ssize_t, -1, send, INTR | MEMORY | KILLED, (int a, const void *b, size_t c, int d),
      (a, b, c, d))
PLAIN(int, -1, listen, MEMORY | FILES, (int a, int b), (a, b))
PLAIN(int, -1, poll, INTR | MEMORY | KILLED, (struct pollfd * a, nfds_t b, int c), (a, b, c))
/* To give a lock back cannot fail. */
PLAIN(int, -1, flock, b & LOCK_UN ? 0 : INTR | MEMORY | AGAIN, (int a, int b), (a, b))
PLAIN(int, -1, unlink, DISK | MEMORY, (const char *a), (a))
PLAIN(int, -1, rmdir, DISK | MEMORY, (const char *a), (a))
PLAIN(int, -1, chmod, DISK | MEMORY, (const char *a, mode_t b), (a, b))
PLAIN(int, -1, fchmod, DISK | INTR, (int a, mode_t b), (a, b))
PLAIN(int, -1, statx, MEMORY, (int a, const char *restrict b, int c, unsigned d,
      struct statx *restrict e), (a, b, c, d, e))
PLAIN(int, -1, mprotect, MEMORY, (void *a, size_t b, int c), (a, b, c))
PLAIN(DIR *, NULL, opendir, MEMORY | FILES, (const char *a), (a))
PLAIN(ssize_t, -1, readlink, MEMORY, (const char *restrict a, char *restrict b, size_t c), (a, b, c))
PLAIN(char *, NULL, realpath, MEMORY, (const char *restrict a, char *restrict b), (a, b))
PLAIN(int, -1, dup, FILES, (int a), (a))

/* Returns the error. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    return fails(AGAIN | KILLED) ? EAGAIN : real(thread, attributes, start, argument);
}
