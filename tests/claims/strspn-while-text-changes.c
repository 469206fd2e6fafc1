// strspn reads the text word by word; the other thread changes both words in between.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static _Alignas(8) char text[] = "aaaaaaaabbbbbbbb";
static void *worker(void *u) {
    text[8] = 'a';
    text[0] = 'b';
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    size_t length = strspn(text, "a");
    pthread_join(a, 0);
    if (length == 9) abort();
    return 0;
}
