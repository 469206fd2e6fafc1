// iconv writes what its argument leads to. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <iconv.h>
#include <pthread.h>
#include <stdlib.h>
static char text[8] = "z";
static iconv_t converter;
static void *worker(void *u) {
    char from[] = "a", *in = from, *out = text;
    size_t in_len = 1, out_len = 8;
    iconv(converter, &in, &in_len, &out, &out_len);
    return u;
}
int main(void) {
    pthread_t a;
    converter = iconv_open("UTF-8", "ISO-8859-1");
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(text[0]) *)&text[0];
    long after = (long)*(volatile __typeof__(text[0]) *)&text[0];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
