/* The environment contains the user's variables and none of Heddle's: in main, in a constructor and
   in a thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static void look(const char *where)
{
    static const char *const names[] = {"LD_PRELOAD=", "HEDDLE_", "GLIBC_TUNABLES=", "LD_BIND_NOW="};
    int found = 0;
    for (char **entry = environ; *entry; entry++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strncmp(*entry, names[i], strlen(names[i])) == 0) {
                printf("%s: %s\n", where, *entry);
                found = 1;
            }
    if (getenv("LD_PRELOAD") || getenv("GLIBC_TUNABLES") || getenv("LD_BIND_NOW"))
        found = 1;
    if (!found)
        printf("%s: clean\n", where);
}

__attribute__((constructor)) static void before_main(void)
{
    look("constructor");
}

static void *work(void *unused)
{
    (void)unused;
    look("thread");
    return NULL;
}

int main(int argc, char **argv, char **envp)
{
    pthread_t thread;
    (void)argc;
    (void)argv;
    look("main");
    for (; *envp; envp++)
        if (strncmp(*envp, "HEDDLE_", 7) == 0)
            printf("envp: %s\n", *envp);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
