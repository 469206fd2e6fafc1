#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static sigset_t set;
static void *waiter(void *unused) {
  int got;
  sigwait(&set, &got);
  return unused;
}
int main(void) {
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, 0);
  pthread_t thread;
  pthread_create(&thread, 0, waiter, 0);
  sleep(5);
  kill(getpid(), SIGUSR1);
  struct timespec none = {0, 0};
  assert(sigtimedwait(&set, 0, &none) == -1 && errno == EAGAIN);
  pthread_join(thread, 0);
  return 0;
}
