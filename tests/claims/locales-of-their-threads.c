// Each thread makes, uses and frees its own locale, and one that all threads share is freed by the last.
#define _GNU_SOURCE
#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static locale_t shared;
static void *worker(void *u) {
    locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", 0), copy = duplocale(shared);
    locale_t plain = newlocale(LC_ALL_MASK, "C", 0);
    if (!own || strcoll_l("one", "two", own) >= 0 || !isalpha_l('a', shared) || !isdigit_l('1', plain)) abort();
    freelocale(copy);
    freelocale(plain);
    freelocale(own);
    return u;
}
int main(void) {
    pthread_t a, b;
    shared = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    freelocale(shared);
    return 0;
}
