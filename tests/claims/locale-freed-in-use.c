// A locale is freed while another thread compares texts by it.
#define _GNU_SOURCE
#include <locale.h>
#include <pthread.h>
#include <string.h>
static locale_t words;
static void *worker(void *u) {
    volatile int order = strcoll_l("one", "two", words);
    (void)order;
    return u;
}
int main(void) {
    pthread_t a;
    words = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
    pthread_create(&a, 0, worker, 0);
    freelocale(words);
    pthread_join(a, 0);
    return 0;
}
