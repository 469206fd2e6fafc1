// A buffer is used before a write to a pipe, and what that sends is read into it: there is no race.
#include <pthread.h>
#include <unistd.h>
char buffer[16];
int p[2];
static void *worker(void *u) {
    buffer[0] = 1;
    write(p[1], "x", 1);
    return u;
}
int main(void) {
    pipe(p);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    read(p[0], buffer, 16);
    pthread_join(a, 0);
    return 0;
}
