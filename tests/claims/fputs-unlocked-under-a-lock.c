// Each thread holds the same mutex, so the calls do not overlap.
#include "two_threads.h"

static FILE *stream;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void print(const char *text) {
    pthread_mutex_lock(&lock);
    fputs_unlocked(text, stream);
    pthread_mutex_unlock(&lock);
}

static void *a(void *unused) {
    print("a");
    return unused;
}

static void *b(void *unused) {
    print("b");
    return unused;
}

int main(void) {
    stream = tmpfile();
    fputs("x", stream);
    go(a, b);
    if (ftell(stream) != 3) abort();
    return 0;
}
