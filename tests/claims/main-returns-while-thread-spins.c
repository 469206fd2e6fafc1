// Main returns while a thread spins for a flag that no thread sets: returning ends the process, and nothing can go wrong.
#include <pthread.h>
static volatile int flag;
static void *spinner(void *u) {
    while (!flag);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, spinner, 0);
    return 0;
}
