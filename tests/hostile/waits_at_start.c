/* Fails if one thread runs between the other's two accesses. Its first
 * process runs normally; each later one waits before main while the file
 * "held" exists (in the current directory), and creates the file "waits". */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    int first = open("begun", O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (first >= 0) {
        close(first);
        return;
    }
    if (access("held", F_OK) == 0)
        close(open("waits", O_WRONLY | O_CREAT, 0600));
    while (access("held", F_OK) == 0)
        usleep(1000);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static int get(void)
{
    pthread_mutex_lock(&lock);
    int value = sum;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value)
{
    pthread_mutex_lock(&lock);
    sum = value;
    pthread_mutex_unlock(&lock);
}

static void *add(void *unused)
{
    set(get() + 1);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(get() == 2);
    return 0;
}
