// An uncaught exception in a thread; with -DIN_MAIN in main while a thread waits.
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>

static sem_t never;

static void *work(void *)
{
#ifdef IN_MAIN
    sem_wait(&never);
#else
    throw std::runtime_error("thrown by a thread");
#endif
    return nullptr;
}

int main()
{
    pthread_t thread;
    sem_init(&never, 0, 0);
    pthread_create(&thread, nullptr, work, nullptr);
#ifdef IN_MAIN
    throw std::logic_error("thrown by main");
#else
    pthread_join(thread, nullptr);
#endif
}
