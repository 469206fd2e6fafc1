// Two threads read without waiting from the pipe that the other writes: one writes first, the other answers.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int to[2], back[2];
static void *answerer(void *u) {
    char byte;
    while (read(to[0], &byte, 1) != 1) usleep(1000);
    write(back[1], "y", 1);
    return u;
}
int main(void) {
    pthread_t a;
    char byte;
    pipe(to);
    pipe(back);
    fcntl(to[0], F_SETFL, O_NONBLOCK);
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    pthread_create(&a, 0, answerer, 0);
    write(to[1], "x", 1);
    while (read(back[0], &byte, 1) != 1) usleep(1000);
    pthread_join(a, 0);
    return 0;
}
