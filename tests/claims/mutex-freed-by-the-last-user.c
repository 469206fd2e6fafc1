#include <pthread.h>
#include <stdlib.h>
struct object {
    char text[600];
    pthread_mutex_t lock;
    int users;
};
static void *use(void *arg) {
    struct object *object = arg;
    pthread_mutex_lock(&object->lock);
    int left = --object->users;
    pthread_mutex_unlock(&object->lock);
    if (left == 0) free(object);
    return NULL;
}
int main(void) {
    struct object *object = malloc(sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    object->users = 2;
    pthread_t thread;
    pthread_create(&thread, NULL, use, object);
    use(object);
    pthread_join(thread, NULL);
    return 0;
}
