// An event counter has two descriptors. The lower one, through which it is raised, is closed before the other is read.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int lower, higher;
static void *reader(void *u) {
    uint64_t count;
    if (read(higher, &count, 8) != 8) abort();
    return u;
}
int main(void) {
    lower = eventfd(0, EFD_NONBLOCK);
    higher = dup(lower);
    pthread_t a;
    pthread_create(&a, 0, reader, 0);
    uint64_t one = 1;
    write(lower, &one, 8);
    close(lower);
    pthread_join(a, 0);
    return 0;
}
