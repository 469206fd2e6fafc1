/* A task made by clone() itself, which shares the memory but is no thread of the threads library. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define STACK (64 * 1024)

static volatile int value;

static int work(void *argument)
{
    value = *(int *)argument;
    return 0;
}

int main(void)
{
    int argument = 42;
    char *stack = malloc(STACK);
    if (!stack)
        return 1;
    int child = clone(work, stack + STACK, CLONE_VM | SIGCHLD, &argument);
    if (child < 0)
        return 1;
    waitpid(child, NULL, 0);
    printf("value %d\n", value);
    free(stack);
    return 0;
}
