/* Runs a command for whose processes the kernel refuses some system calls: refuse RULE... -- COMMAND...
 *
 * A rule is CALL[/INDEX=VALUE]...:ERROR; the call, the index of an argument, its value and the error are numbers.
 * Tests use it to see what Heddle says on a kernel, or in a container, that refuses what it needs. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct sock_filter code[256];
static unsigned short length;

static void add(unsigned short what, unsigned char otherwise, unsigned value)
{
    if (length == sizeof code / sizeof *code) {
        fputs("refuse: too many rules\n", stderr);
        exit(2);
    }
    code[length++] = (struct sock_filter){ what, 0, otherwise, value };
}

/* Continues with the next rule if the word at this place has another value. The length of the rule is not known
 * yet: `rule` fills it in. */
static void compare(size_t place, unsigned value)
{
    add(BPF_LD | BPF_W | BPF_ABS, 0, place);
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, value);
}

/* An argument has two words. */
static void compare_argument(unsigned long index, unsigned long value)
{
    size_t place = offsetof(struct seccomp_data, args) + 8 * index;
    compare(place, value);
    compare(place + 4, value >> 32);
}

static void rule(char *text)
{
    unsigned short first = length;
    compare(offsetof(struct seccomp_data, nr), strtoul(text, &text, 0));
    while (*text == '/') {
        unsigned long index = strtoul(text + 1, &text, 0);
        compare_argument(index, strtoul(text + 1, &text, 0));
    }
    add(BPF_RET | BPF_K, 0, SECCOMP_RET_ERRNO | strtoul(text + 1, &text, 0));
    for (unsigned short at = first; at < length; at++)
        if (code[at].code == (BPF_JMP | BPF_JEQ | BPF_K))
            code[at].jf = length - at - 1;
}

int main(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        rule(argv[at]);
    add(BPF_RET | BPF_K, 0, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { length, code };
    if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("refuse");
        return 2;
    }
    execvp(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 2;
}
