// Closing a descriptor does not end a read that already waits.
#include <pthread.h>
#include <unistd.h>
static int p[2];
static void *closer(void *u) {
    close(p[0]);
    return u;
}
int main(void) {
    pipe(p);
    pthread_t t;
    pthread_create(&t, 0, closer, 0);
    char c;
    read(p[0], &c, 1);
    pthread_join(t, 0);
    return 0;
}
