/* A program that forks. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *unused)
{
    (void)unused;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int status = -1;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    printf("child left %d\n", WEXITSTATUS(status));
    return 0;
}
