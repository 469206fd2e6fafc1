/* Uses the files about a thread below /proc in the way that the argument names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

static void *nothing(void *unused)
{
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int ends[2];
    if (count < 2)
        return 64;
    pthread_create(&thread, NULL, nothing, NULL);
    if (!strcmp(arguments[1], "many")) {
        for (int number = 0; number < 65; number++)
            open("/proc/thread-self/comm", O_RDONLY);
    } else if (!strcmp(arguments[1], "closed")) {
        for (int number = 0; number < 200; number++)
            close(open("/proc/thread-self/comm", O_RDONLY));
    } else if (!strcmp(arguments[1], "copied")) {
        pipe(ends);
        sendfile(ends[1], open("/proc/self/comm", O_RDONLY), NULL, 16);
    }
    return pthread_join(thread, NULL);
}
