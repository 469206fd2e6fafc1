/* Its behaviour depends on the number of previous runs, which is the size
 * of a file in the current directory: the first `argv[1]` executions, and
 * every `argv[2]`-th (0: none), take one more lock at the beginning. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t more = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int argc, char **argv)
{
    struct stat before;
    int file = open("runs", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (argc < 3 || file < 0 || fstat(file, &before) != 0 || write(file, ".", 1) != 1)
        return 2;
    long every = atol(argv[2]);
    int other = before.st_size < atol(argv[1]) || (every && before.st_size % every == every - 1);
    if (other)
        pthread_mutex_lock(&more);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (other)
        pthread_mutex_unlock(&more);
    return 0;
}
