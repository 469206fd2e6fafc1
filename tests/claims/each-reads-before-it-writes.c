// Two threads each wait for the byte that the other writes only then.
#include <pthread.h>
#include <unistd.h>
static int p[2], q[2];
static void *answer(void *u) {
    char c;
    read(p[0], &c, 1);
    write(q[1], "a", 1);
    return u;
}
int main(void) {
    pipe(p);
    pipe(q);
    pthread_t t;
    pthread_create(&t, 0, answer, 0);
    char c;
    read(q[0], &c, 1);
    write(p[1], "q", 1);
    pthread_join(t, 0);
    return 0;
}
