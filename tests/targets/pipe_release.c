/* A reader tests whether a pipe exists and then uses it; the release removes it in between. */
#include <pthread.h>
#include <stddef.h>

struct pipe {
    int readers;
};

struct inode {
    pthread_mutex_t guard;
    struct pipe *volatile pipe;
};

static struct pipe only = {1};
static struct inode inode = {PTHREAD_MUTEX_INITIALIZER, &only};

static void *open_read(void *unused)
{
    (void)unused;
    if (!inode.pipe)
        return NULL;
    pthread_mutex_lock(&inode.guard);
    inode.pipe->readers++;
    pthread_mutex_unlock(&inode.guard);
    return NULL;
}

static void *release(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&inode.guard);
    inode.pipe = NULL;
    pthread_mutex_unlock(&inode.guard);
    return NULL;
}

int main(void)
{
    pthread_t reader, closer;
    pthread_create(&reader, NULL, open_read, NULL);
    pthread_create(&closer, NULL, release, NULL);
    pthread_join(reader, NULL);
    pthread_join(closer, NULL);
    return 0;
}
