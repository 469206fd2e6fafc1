// A wide string is copied while the other thread reads its first and then its last character: it can see the new first and the old last.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <wchar.h>
static wchar_t to[8] = L"aaaaa";
static const wchar_t *volatile from = L"bbbbb";
static void *worker(void *u) {
    wcscpy(to, from);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    volatile wchar_t *v = to;
    wchar_t first = v[0], last = v[4];
    pthread_join(a, 0);
    if (first == L'b' && last == L'a') abort();
    return 0;
}
