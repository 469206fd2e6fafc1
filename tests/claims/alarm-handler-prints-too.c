// A program of one thread prints, and so does the handler of its timer.
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
static void handler(int n) { printf("tick\n"); }
int main(void) {
    signal(SIGALRM, handler);
    struct itimerval soon = {.it_value = {.tv_usec = 1}};
    setitimer(ITIMER_REAL, &soon, 0);
    printf("working\n");
    pause();
    return 0;
}
