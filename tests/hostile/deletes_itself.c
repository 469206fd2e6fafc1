/* Deletes its executable before it fails, so that it cannot be started again. */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static void *work(void *unused)
{
    (void)unused;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    assert(unlink(argv[0]) == 0 && argc > 1);
    return 0;
}
