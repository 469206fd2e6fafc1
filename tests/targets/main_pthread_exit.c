/* main ends by pthread_exit; the process continues until its last thread ends, and its status is 0. */
#include <pthread.h>
#include <stdio.h>

static pthread_t first;

static void *work(void *unused)
{
    (void)unused;
    /* The first thread can be joined like any other. */
    void *result = NULL;
    int error = pthread_join(first, &result);
    printf("main %s %s\n", error ? "was not joined" : "was joined and gave", (char *)result);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
    pthread_exit("a result");
}
