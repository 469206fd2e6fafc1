/* Prints what every source of random numbers gives: under control the same in every run. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <unistd.h>

static void show(const char *what, const unsigned char *bytes)
{
    printf("%s", what);
    for (int i = 0; i < 16; i++)
        printf(" %02x", bytes[i]);
    putchar('\n');
}

int main(void)
{
    unsigned char bytes[16] = { 0 };
    show("AT_RANDOM", (const unsigned char *)getauxval(AT_RANDOM));
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return 1;
    show("getrandom", bytes);
    if (getentropy(bytes, sizeof bytes) != 0)
        return 2;
    show("getentropy", bytes);
    const char *files[] = { "/dev/urandom", "/dev/random" };
    for (int i = 0; i < 2; i++) {
        int file = open(files[i], O_RDONLY | O_CLOEXEC), copy = dup(file);
        if (read(copy, bytes, sizeof bytes) != sizeof bytes)
            return 3;
        show(files[i], bytes);
        struct iovec parts[2] = { { bytes, 3 }, { bytes + 3, 13 } };
        if (readv(file, parts, 2) != sizeof bytes)
            return 4;
        show(files[i], bytes);
        close(copy);
        close(file);
    }
    char identifier[64] = { 0 };
    int uuid = open("/proc/sys/kernel/random/uuid", O_RDONLY);
    if (read(uuid, identifier, sizeof identifier) != 37 || read(uuid, identifier + 40, 9) != 0)
        return 8;
    close(uuid);
    printf("uuid %s", identifier);
    FILE *stream = fopen("/dev/urandom", "rb");
    if (!stream || fread(bytes, sizeof bytes, 1, stream) != 1)
        return 5;
    show("fread", bytes);
    fclose(stream);
#if __GLIBC_PREREQ(2, 36)
    arc4random_buf(bytes, sizeof bytes);
    show("arc4random", bytes);
    printf("%u %u\n", arc4random(), arc4random_uniform(100));
#endif
    struct drand48_data state;
    double drawn;
    srand48_r(3, &state);
    drand48_r(&state, &drawn);
    printf("%d %ld %.6f %ld %ld %.6f\n", rand(), random(), drand48(), lrand48(), mrand48(), drawn);
    /* The information about the machine also differs each time. */
    struct sysinfo machine;
    struct rusage used;
    sysinfo(&machine);
    getrusage(RUSAGE_SELF, &used);
    printf("%d %ld %ld %ld %ld\n", sched_getcpu(), machine.uptime, machine.loads[0], (long)times(NULL), used.ru_minflt);
    char name[] = "/tmp/heddle-XXXXXX";
    int file = mkstemp(name);
    if (file < 0)
        return 6;
    puts(name);
    unlink(name);
    return 0;
}
