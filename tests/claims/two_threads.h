// What claims of two threads that call the C library share.
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <execinfo.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static void go(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t one, other;
    pthread_create(&one, 0, first, 0);
    pthread_create(&other, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
}
