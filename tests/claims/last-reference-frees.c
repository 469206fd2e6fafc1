#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct object { atomic_int references; int value; };
static struct object *shared;
static atomic_int sum;
static void drop_it(void) {
    atomic_fetch_add(&sum, shared->value);
    if (atomic_fetch_sub(&shared->references, 1) == 1) free(shared);
}
static void *user(void *arg) { drop_it(); return arg; }
int main(void) {
    shared = malloc(sizeof *shared);
    shared->references = 2; shared->value = 4;
    pthread_t t;
    pthread_create(&t, NULL, user, NULL);
    drop_it();
    pthread_join(t, NULL);
    return sum != 8;
}
