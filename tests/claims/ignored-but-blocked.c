#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static sigset_t set;

static void *waiter(void *unused) {
  int got;
  assert(sigwait(&set, &got) == 0 && got == SIGUSR1);
  return unused;
}

int main(void) {
  sigset_t pending;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, 0);
  signal(SIGUSR1, SIG_IGN);
  kill(getpid(), SIGUSR1);
  sigpending(&pending);
  assert(sigismember(&pending, SIGUSR1));
  pthread_t thread;
  pthread_create(&thread, 0, waiter, 0);
  pthread_join(thread, 0);
  kill(getpid(), SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &set, 0);
  sigpending(&pending);
  assert(!sigismember(&pending, SIGUSR1));
  return 0;
}
