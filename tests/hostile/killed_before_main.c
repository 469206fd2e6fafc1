// A signal ends the program before main: in its first process only, or in each (-DALWAYS).
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
    int first = open("started", O_CREAT | O_EXCL | O_WRONLY, 0600);
#ifndef ALWAYS
    if (first < 0) return;
#endif
    close(first);
    raise(SIGSEGV);
}

static int value;

static void *work(void *unused) {
    __atomic_fetch_add(&value, 1, __ATOMIC_SEQ_CST);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
    return value != 2;
}
