#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
static int *data;
int sum;
static void *reader(void *arg) { sum = data[3]; return arg; }
int main(void) {
    data = calloc(16, sizeof *data);
    pthread_t t;
    pthread_create(&t, NULL, reader, NULL);
    free(data);
    pthread_join(t, NULL);
    return 0;
}
