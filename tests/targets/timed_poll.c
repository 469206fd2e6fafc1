/* main polls the progress of two workers every millisecond: by a condition or a semaphore with a
   time limit, as the first argument says. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t posted;
static int done;

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    done++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&guard);
    sem_post(&posted);
    return NULL;
}

static struct timespec soon(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    return end;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "wait";
    pthread_t workers[2];
    sem_init(&posted, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int seen = 0; seen < 2;) {
        struct timespec end = soon();
        if (!strcmp(way, "wait")) {
            pthread_mutex_lock(&guard);
            while (done < 2 && !pthread_cond_timedwait(&changed, &guard, &end))
                ;
            seen = done;
            pthread_mutex_unlock(&guard);
        } else {
            seen += !sem_timedwait(&posted, &end);
        }
    }
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
