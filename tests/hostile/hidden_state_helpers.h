/* What the cases of hidden_state.c use. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <error.h>
#include <fenv.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <langinfo.h>
#include <libintl.h>
#include <link.h>
#include <locale.h>
#include <malloc.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <search.h>
#include <signal.h>
#include <pwd.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static pthread_t first;
static int fd, other, ends[2];
static volatile char *page;
static char text[64];
static FILE *stream;
static DIR *list;
static struct stat status;

static int file(const char *name)
{
    return open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
}

static int name_is(const char *expected)
{
    char name[16] = "";
    pthread_getname_np(first, name, sizeof name);
    return !strcmp(name, expected);
}

static int name_in_proc(char expected)
{
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", getpid());
    int task = open(path, O_RDONLY);
    if (read(task, name, sizeof name) < 1)
        return 0;
    close(task);
    return name[0] == expected;
}

static void set_name_in_proc(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", getpid());
    int task = open(path, O_WRONLY);
    if (write(task, name, strlen(name)) < 1)
        exit(3);
    close(task);
}

static char byte_at(int descriptor, off_t offset)
{
    char byte = 0;
    return pread(descriptor, &byte, 1, offset) == 1 ? byte : 0;
}

static char read_byte(int descriptor)
{
    char byte = 0;
    return read(descriptor, &byte, 1) == 1 ? byte : 0;
}

static void put(int descriptor, char byte, off_t offset)
{
    if (pwrite(descriptor, &byte, 1, offset) != 1)
        exit(3);
}

static void map_file(void)
{
    fd = file("mapped");
    if (ftruncate(fd, 4096))
        exit(3);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static long limit(int which)
{
    struct rlimit now;
    getrlimit(which, &now);
    return (long)now.rlim_cur;
}

static void set_limit(int which, long value)
{
    struct rlimit now;
    getrlimit(which, &now);
    now.rlim_cur = (rlim_t)value;
    setrlimit(which, &now);
}

static int option(int level, int name)
{
    int value = 0;
    socklen_t size = sizeof value;
    getsockopt(fd, level, name, &value, &size);
    return value;
}

static void set_option(int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof value);
}

static int disposition(int signal)
{
    struct sigaction action;
    sigaction(signal, NULL, &action);
    return action.sa_handler == SIG_IGN;
}

static int entries(void)
{
    int count = 0;
    while (readdir(list))
        count++;
    return count;
}

static void arm(long seconds)
{
    struct itimerspec time = {.it_value.tv_sec = seconds};
    timerfd_settime(fd, 0, &time, NULL);
}

static int is_armed(void)
{
    struct itimerspec time;
    timerfd_gettime(fd, &time);
    return time.it_value.tv_sec != 0;
}

static timer_t timer;

static void arm_timer(long seconds)
{
    struct itimerspec time = {.it_value.tv_sec = seconds};
    timer_settime(timer, 0, &time, NULL);
}

static int timer_is_armed(void)
{
    struct itimerspec time;
    timer_gettime(timer, &time);
    return time.it_value.tv_sec != 0;
}

static void interval(long seconds)
{
    struct itimerval time = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_REAL, &time, NULL);
}

static int interval_is_set(void)
{
    struct itimerval time;
    getitimer(ITIMER_REAL, &time);
    return time.it_value.tv_sec != 0;
}

static int polled(int descriptor)
{
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

static int epolled(void)
{
    struct epoll_event event;
    return epoll_wait(other, &event, 1, 0) == 1;
}

static void member(int operation)
{
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(other, operation, fd, &event);
}

static int entered(char *key)
{
    ENTRY entry = {.key = key};
    return hsearch(entry, FIND) != NULL;
}

static void enter(char *key)
{
    ENTRY entry = {.key = key};
    hsearch(entry, ENTER);
}

static int policy_is(int policy)
{
    struct sched_param parameter;
    int found = 0;
    pthread_getschedparam(first, &found, &parameter);
    return found == policy;
}

static void set_policy(int policy, int priority)
{
    struct sched_param parameter = {.sched_priority = priority};
    pthread_setschedparam(first, policy, &parameter);
}

static int processors(void)
{
    cpu_set_t set;
    pthread_getaffinity_np(first, sizeof set, &set);
    return CPU_COUNT(&set);
}

static void set_processors(int all)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int number = 0; number < (all ? 64 : 1); number++)
        CPU_SET(number, &set);
    pthread_setaffinity_np(first, sizeof set, &set);
}

static size_t default_stack(void)
{
    pthread_attr_t attributes;
    size_t size;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &size);
    return size;
}

static void set_default_stack(size_t size)
{
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_setstacksize(&attributes, size);
    pthread_setattr_default_np(&attributes);
}

static int mode_of_new(const char *name)
{
    close(open(name, O_RDWR | O_CREAT, 0666));
    stat(name, &status);
    return status.st_mode & 0777;
}

static int there(const char *name)
{
    return access(name, F_OK) == 0;
}

static int links(const char *name)
{
    stat(name, &status);
    return (int)status.st_nlink;
}

static int attribute(void)
{
    return fgetxattr(fd, "user.x", text, sizeof text) == 1;
}

static int has_wide(void)
{
    return fwide(stream, 0) > 0;
}

static void set_time(const char *name, long seconds)
{
    struct timeval times[2] = {{seconds, 0}, {seconds, 0}};
    utimes(name, times);
}

static long time_of(const char *name)
{
    stat(name, &status);
    return status.st_mtim.tv_sec;
}

static void action(int signal, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(signal, &action, NULL);
}

static int locked(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    fcntl(fd, F_OFD_GETLK, &lock);
    return lock.l_type != F_UNLCK;
}

static void lock(short kind)
{
    struct flock lock = {.l_type = kind, .l_whence = SEEK_SET, .l_len = 1};
    fcntl(other, F_OFD_SETLK, &lock);
}

static int open_flags(int descriptor)
{
    return fcntl(descriptor, F_GETFL);
}

static void send_bytes(int count)
{
    if (write(ends[1], text, (size_t)count) != count)
        exit(3);
}

static int waiting(int descriptor)
{
    int count = 0;
    ioctl(descriptor, FIONREAD, &count);
    return count;
}

static int getopt_result(void)
{
    char *arguments[] = {"x", "-a", "-b", NULL};
    return getopt(3, arguments, "ab");
}

static int free_descriptor(void)
{
    int found = dup(0);
    close(found);
    return found;
}

static int loaded(void)
{
    void *handle = dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

static void *handle;

static int resident(void)
{
    unsigned char there = 0;
    mincore((void *)page, 4096, &there);
    return there & 1;
}

static int has_group(gid_t group)
{
    gid_t found[8];
    int count = getgroups(8, found);
    for (int at = 0; at < count; at++)
        if (found[at] == group)
            return 1;
    return 0;
}

static void address_pair(void)
{
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    fd = ends[0];
}


static struct sockaddr_un local = {.sun_family = AF_UNIX}, found;
static socklen_t local_size;

/* A name that no other process binds at the same time. */
static void own_name(void)
{
    int len = snprintf(local.sun_path + 1, sizeof local.sun_path - 1, "heddle%d", getpid());
    local_size = offsetof(struct sockaddr_un, sun_path) + 1 + len;
}
static cpu_set_t set;
static uid_t ids[3];
static struct servent *service;

static int name_size(void)
{
    socklen_t size = sizeof found;
    getsockname(fd, (struct sockaddr *)&found, &size);
    return (int)size;
}

static long size_of_file(const char *name)
{
    stat(name, &status);
    return status.st_size;
}

static void block(int signal)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
}

static int is_pending(int signal)
{
    sigset_t one;
    sigpending(&one);
    return sigismember(&one, signal);
}

static int hour(int reentrant)
{
    time_t zero = 0;
    struct tm result;
    return reentrant ? localtime_r(&zero, &result)->tm_hour : localtime(&zero)->tm_hour;
}

static struct tm *broken_down;
static char *result;

static size_t initial_stack(void)
{
    pthread_attr_t attributes;
    size_t size;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &size);
    return size;
}

static int one_listed(struct dl_phdr_info *one, size_t size, void *name)
{
    (void)size;
    return strstr(one->dlpi_name, name) != NULL;
}

static int listed(const char *name)
{
    return dl_iterate_phdr(one_listed, (void *)name);
}

static int compare(const void *one, const void *other)
{
    return strcmp(one, other);
}

static unsigned short seed[7] = {1, 2, 3, 4, 5, 6, 7};
static long expected;
static void *top;
static size_t blocks;

static wchar_t wide[8], *rest;
static struct random_data own;
static int number;

static const char *said_of_process(const char *name)
{
    static char said[65536];
    char path[64];
    snprintf(path, sizeof path, "/proc/self/%s", name);
    int opened = open(path, O_RDONLY);
    ssize_t size = read(opened, said, sizeof said - 1);
    close(opened);
    said[size > 0 ? size : 0] = 0;
    return said;
}

static int restarts(int signal)
{
    struct sigaction action;
    sigaction(signal, NULL, &action);
    return (action.sa_flags & SA_RESTART) != 0;
}

static fenv_t rounds;
static pthread_key_t key;
static char variable[] = "HEDDLE_Y=1";

/* Two descriptors of one file. */
static void twice(int descriptor)
{
    fd = descriptor;
    other = dup(fd);
}

static int is_invalid(int descriptor)
{
    struct pollfd one = {descriptor, POLLIN, 0};
    return poll(&one, 1, 0) == 1 && one.revents & POLLNVAL;
}

static int bound(int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int socket_ = socket(AF_INET, type | SOCK_NONBLOCK, 0);
    if (bind(socket_, (struct sockaddr *)&address, sizeof address))
        exit(3);
    return socket_;
}

static int listener(void)
{
    int listener = bound(SOCK_STREAM);
    listen(listener, 4);
    return listener;
}

static int datagrams(void)
{
    return bound(SOCK_DGRAM);
}

static void connect_to(int listener)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    getsockname(listener, (struct sockaddr *)&address, &size);
    if (connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, size))
        exit(3);
}

static void send_to(int from, int to)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    getsockname(to, (struct sockaddr *)&address, &size);
    if (sendto(from, "x", 1, 0, (struct sockaddr *)&address, size) != 1)
        exit(3);
}

static int is_detached(void)
{
    pthread_attr_t attributes;
    int state;
    pthread_getattr_np(first, &attributes);
    pthread_attr_getdetachstate(&attributes, &state);
    return state == PTHREAD_CREATE_DETACHED;
}

static int processors_of_attributes(void)
{
    pthread_attr_t attributes;
    cpu_set_t own;
    pthread_getattr_np(first, &attributes);
    pthread_attr_getaffinity_np(&attributes, sizeof own, &own);
    return CPU_COUNT(&own);
}

static int has_exited;

static void first_at_exit(void)
{
    has_exited = 1;
}

static void second_at_exit(void)
{
    if (!has_exited)
        abort();
}
