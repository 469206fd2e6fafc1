/* What a program sees of the environment it was started with. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern char **environ;

static void *show(void *unused)
{
    int (*preloaded)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "preloaded");
    printf("preloaded: %d\n", preloaded != NULL ? preloaded() : 0);
    const char *names[] = {"LD_PRELOAD", "LD_BIND_NOW", "GLIBC_TUNABLES"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        printf("%s=%s\n", names[i], value != NULL ? value : "(unset)");
    }
    for (char **entry = environ; *entry != NULL; entry++)
        puts(*entry);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, show, NULL);
    pthread_join(thread, NULL);
    return 0;
}
