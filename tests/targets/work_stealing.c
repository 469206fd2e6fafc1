/* A deque of the THE protocol (Frigo, Leiserson, Randall, "The Implementation of the Cilk-5
   Multithreaded Language", 1998): the owner pushes and pops at the tail, thieves steal at the head. The
   owner looks whether it meets a thief before it says that it takes the item, so that both may take it
   without the lock that is to decide; -DFIXED says it first. args: items. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NONE = -1, MOST = 256, THIEVES = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static atomic_int head, tail;
static int items[MOST];
static atomic_int taken[MOST];
static int count;

static void push(int item)
{
    items[tail] = item;
    tail++;
}

static int pop(void)
{
    int last = tail - 1;
#ifdef FIXED
    tail = last;
#endif
    if (head > last) {
        pthread_mutex_lock(&guard);
        if (head > last) {
            tail = last + 1;
            pthread_mutex_unlock(&guard);
            return NONE;
        }
        pthread_mutex_unlock(&guard);
    }
    tail = last;
    return items[last];
}

static int steal(void)
{
    int item = NONE;
    pthread_mutex_lock(&guard);
    int first = head;
    head = first + 1;
    if (first + 1 > tail)
        head = first;
    else
        item = items[first];
    pthread_mutex_unlock(&guard);
    return item;
}

static void take(int item)
{
    if (item != NONE)
        assert(atomic_fetch_add(&taken[item], 1) == 0);
}

static void *owner(void *unused)
{
    (void)unused;
    for (int i = 0; i < count; i++) {
        push(i);
        if (i % 2)
            take(pop());
    }
    for (int i = 0; i < count; i++)
        take(pop());
    return NULL;
}

static void *thief(void *unused)
{
    (void)unused;
    for (int i = 0; i < count; i++)
        take(steal());
    return NULL;
}

int main(int argc, char **argv)
{
    count = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t thread[1 + THIEVES];
    pthread_create(&thread[0], NULL, owner, NULL);
    for (int i = 1; i <= THIEVES; i++)
        pthread_create(&thread[i], NULL, thief, NULL);
    for (int i = 0; i <= THIEVES; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
