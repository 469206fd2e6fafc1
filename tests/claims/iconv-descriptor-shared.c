// Two threads convert with one descriptor: the byte order mark is written by one of them only, or the state is lost.
#define _GNU_SOURCE
#include <iconv.h>
#include <pthread.h>
#include <stdlib.h>
static iconv_t converter;
static void *worker(void *u) {
    char *from = "a", out[16], *to = out;
    size_t left = 1, room = sizeof out;
    iconv(converter, &from, &left, &to, &room);
    return u;
}
int main(void) {
    converter = iconv_open("UTF-16", "UTF-8");
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char *from = "a", out[16], *to = out;
    size_t left = 1, room = sizeof out;
    iconv(converter, &from, &left, &to, &room);
    pthread_join(a, 0);
    if (room != 12) abort();
    return 0;
}
