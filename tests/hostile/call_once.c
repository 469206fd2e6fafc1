// A thread makes one system call that is no step, before any step in which executions differ.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *calls) {
    if (calls) {
        syscall(SYS_getppid);
    }
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, count, &first);
    pthread_create(&second, NULL, count, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
