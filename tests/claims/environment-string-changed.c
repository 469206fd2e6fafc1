// putenv makes a string of the program a part of the environment, and the program changes it later.
#include <pthread.h>
#include <stdlib.h>
static volatile char text[] = "HEDDLE_X=1";
static void *worker(void *u) {
    text[0] = 'J';
    text[0] = 'H';
    return u;
}
int main(void) {
    putenv((char *)text);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    if (!getenv("HEDDLE_X")) abort();
    pthread_join(a, 0);
    return 0;
}
