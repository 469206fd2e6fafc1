// SIGCHLD is blocked and has no handler: sigwait and a descriptor report the child that ended.
#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
static pid_t start(int status) {
    pid_t child = fork();
    if (!child) _exit(status);
    return child;
}
int main(void) {
    sigset_t set;
    int taken, status;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, 0);
    pid_t child = start(7);
    assert(sigwait(&set, &taken) == 0 && taken == SIGCHLD);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    struct pollfd one = { signalfd(-1, &set, SFD_CLOEXEC), POLLIN, 0 };
    child = start(8);
    assert(poll(&one, 1, -1) == 1);
    struct signalfd_siginfo info;
    assert(read(one.fd, &info, sizeof info) == sizeof info);
    assert(info.ssi_signo == SIGCHLD && (pid_t)info.ssi_pid == child);
    assert(info.ssi_code == CLD_EXITED && info.ssi_status == 8);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 8);
    return 0;
}
