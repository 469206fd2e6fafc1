/* Prints 100 MB, some of it from another thread. */
#include <pthread.h>
#include <stdio.h>

static void *print(void *unused)
{
    static char block[1 << 20];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = i % 64 == 63 ? '\n' : 'x';
    for (int i = 0; i < 50; i++)
        if (fwrite(block, sizeof block, 1, stdout) != 1)
            return stdout;
    return unused;
}

int main(void)
{
    pthread_t thread;
    void *failed;
    pthread_create(&thread, NULL, print, NULL);
    pthread_join(thread, &failed);
    return failed != NULL || print(NULL) != NULL;
}
