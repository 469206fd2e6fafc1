// mbrtowc without a state uses one that all threads share: one thread leaves it within a character.
#define _GNU_SOURCE
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <wchar.h>
static void *worker(void *u) {
    wchar_t wide;
    if (mbrtowc(&wide, "a", 1, 0) != 1) abort();
    return u;
}
int main(void) {
    if (!setlocale(LC_ALL, "C.UTF-8")) return 0;
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    wchar_t wide;
    mbrtowc(&wide, "\xc3", 1, 0);
    mbrtowc(&wide, "\xa9", 1, 0);
    pthread_join(a, 0);
    return 0;
}
