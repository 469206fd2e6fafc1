/* Two threads lock two files, each through separate descriptors:
 * -DFCNTL by F_OFD_SETLKW, else by flock; -DOPPOSITE in opposite order. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

static int inside;

static int locked(const char *name)
{
    int file = open(name, O_RDWR | O_CREAT, 0600);
#ifdef FCNTL
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    assert(fcntl(file, F_OFD_SETLKW, &all) == 0);
#else
    assert(flock(file, LOCK_EX) == 0);
#endif
    return file;
}

static void *work(void *swapped)
{
    int first = locked(swapped ? "two" : "one");
    int second = locked(swapped ? "one" : "two");
    assert(inside++ == 0);
    inside--;
    close(second);
    close(first);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
#ifdef OPPOSITE
        pthread_create(&threads[i], NULL, work, (void *)i);
#else
        pthread_create(&threads[i], NULL, work, NULL);
#endif
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
