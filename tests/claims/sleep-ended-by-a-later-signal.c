// A signal that another thread sends three seconds later ends the sleep: the sleep began long before.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static pthread_t sleeper;
static void handler(int n) {}
static void *sender(void *u) {
    sleep(3);
    pthread_kill(sleeper, SIGUSR1);
    return u;
}
int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    sleeper = pthread_self();
    pthread_t a;
    pthread_create(&a, 0, sender, 0);
    struct timespec ten = {10, 0}, rest = {0, 0};
    int result = nanosleep(&ten, &rest);
    assert(result == -1 && errno == EINTR && rest.tv_sec >= 5);
    pthread_join(a, 0);
    return 0;
}
