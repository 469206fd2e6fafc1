// A function in assembly, without a size or unwind table, changes a variable for a moment: that can be seen.
#include <pthread.h>
#include <stdlib.h>
volatile int x;
asm(".text\n.globl flicker\nflicker: movl $1, x(%rip)\nmovl $0, x(%rip)\nret\n");
void flicker(void);
static void *worker(void *u) {
    flicker();
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int c = x;
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
