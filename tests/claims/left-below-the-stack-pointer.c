// After a call that lets other threads run, what lies below the stack pointer does not depend on whether another
// thread ran meanwhile.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>

enum { WORDS = 64 };

static int shared;
static uint64_t left[WORDS], before[WORDS];
static sem_t at_the_end;

static void *other(void *argument)
{
    (void)argument;
    __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

// There is another thread as long as main copies.
static void *to_the_end(void *argument)
{
    sem_wait(&at_the_end);
    return argument;
}

// Lets other threads run, and copies what the call left below the stack pointer, where there were zeros. The registers
// that the call preserves have the same values each time, since they may be part of that.
__attribute__((noinline)) static void yield_and_copy(void)
{
    static uint64_t frame_pointer;
    __asm__ volatile("mov %%rbp, %[frame_pointer]\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "xor %%r12d, %%r12d; xor %%r13d, %%r13d; xor %%r14d, %%r14d; xor %%r15d, %%r15d\n\t"
                     "mov %%rsp, %%rbx\n\t"
                     "and $-64, %%rsp\n\t"
                     "sub $512, %%rsp\n\t"
                     "mov %%rsp, %%rdi\n\t"
                     "xor %%eax, %%eax\n\t"
                     "mov $64, %%ecx\n\t"
                     "cld\n\t"
                     "rep stosq\n\t"
                     "add $512, %%rsp\n\t"
                     "call sched_yield@PLT\n\t"
                     "sub $512, %%rsp\n\t"
                     "mov %%rsp, %%rsi\n\t"
                     "lea %[left], %%rdi\n\t"
                     "mov $64, %%ecx\n\t"
                     "rep movsq\n\t"
                     "mov %%rbx, %%rsp\n\t"
                     "mov %[frame_pointer], %%rbp"
                     : [left] "=m"(left), [frame_pointer] "=m"(frame_pointer)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "memory", "cc");
}

int main(void)
{
    pthread_t thread, last;
    sem_init(&at_the_end, 0, 0);
    pthread_create(&last, NULL, to_the_end, NULL);
    pthread_create(&thread, NULL, other, NULL);
    for (int time = 0; time < 3; time++) {
        yield_and_copy();
        // Before the first time, the stack has what `pthread_create` left.
        for (int i = 0; i < WORDS && time > 1; i++)
            assert(left[i] == before[i]);
        for (int i = 0; i < WORDS; i++)
            before[i] = left[i];
    }
    sem_post(&at_the_end);
    pthread_join(thread, NULL);
    pthread_join(last, NULL);
    return 0;
}
