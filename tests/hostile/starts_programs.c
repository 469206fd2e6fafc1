/* Starts other programs while two threads increment a count: by the function that the first argument
 * names. With a second argument, a lost increment fails. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int count;

static void *increment(void *unused)
{
    int seen = count;
    count = seen + 1;
    return unused;
}

static void by_system(void)
{
    int status = system("exit 3");
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    status = system("kill -9 $$");
    assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert(system(NULL) != 0);
}

static void by_popen(void)
{
    char line[32] = "";
    FILE *stream = popen("sleep 0.02; echo from another program", "r");
    assert(stream && fgets(line, sizeof line, stream));
    assert(strcmp(line, "from another program\n") == 0);
    assert(pclose(stream) == 0);
    stream = popen("cat > /dev/null; exit 5", "w");
    assert(stream && fputs("text\n", stream) >= 0);
    assert(WEXITSTATUS(pclose(stream)) == 5);
}

static void by_posix_spawn(void)
{
    char *arguments[] = { "sh", "-c", "sleep 0.02; exit 4", NULL };
    pid_t process;
    int status;
    assert(posix_spawnp(&process, "sh", NULL, NULL, arguments, environ) == 0);
    assert(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 4);
    assert(posix_spawn(&process, "/no/such/program", NULL, NULL, arguments, environ) != 0);
}

/* Both ends of two pipes: a filter that must get its input before it answers. */
static void by_a_filter(void)
{
    int to[2], from[2], status;
    char *arguments[] = { "sed", "-u", "s/a/b/", NULL };
    char answer[8] = "";
    pid_t process;
    posix_spawn_file_actions_t actions;
    assert(pipe(to) == 0 && pipe(from) == 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn_file_actions_addclose(&actions, to[1]);
    assert(posix_spawnp(&process, "sed", &actions, NULL, arguments, environ) == 0);
    assert(write(to[1], "aa\n", 3) == 3);
    assert(read(from[0], answer, sizeof answer) == 3 && strcmp(answer, "ba\n") == 0);
    close(to[1]);
    close(to[0]);
    assert(waitpid(process, &status, 0) == process && status == 0);
}

static void one_is_left(void)
{
    char *arguments[] = { "sleep", "1000", NULL };
    pid_t process;
    assert(posix_spawnp(&process, "sleep", NULL, NULL, arguments, environ) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
        { "system", by_system },
        { "popen", by_popen },
        { "posix_spawn", by_posix_spawn },
        { "filter", by_a_filter },
        { "left", one_is_left },
    };
    pthread_t one, two;
    pthread_create(&one, NULL, increment, NULL);
    pthread_create(&two, NULL, increment, NULL);
    for (unsigned at = 0; at < sizeof ways / sizeof *ways; at++)
        if (argc > 1 && strcmp(argv[1], ways[at].name) == 0)
            ways[at].run();
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(argc < 3 || count == 2);
    return 0;
}
