// A thread sets the locale for a moment: main can see its longest character.
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
static void *worker(void *u) {
    setlocale(LC_CTYPE, "C.UTF-8");
    setlocale(LC_CTYPE, "C");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    size_t longest = MB_CUR_MAX;
    pthread_join(a, 0);
    if (longest > 1) abort();
    return 0;
}
