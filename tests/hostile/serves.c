/* A server with a thread for each connection, and its client, for `--client`.

   serves MODE ADDRESS     waits for two visitors, or longer in some modes
   serves ask ADDRESS TEXT [TEXT ...]   sends each text, and reads a line of answer after each
   serves expect ADDRESS ANSWER         sends "hello", and fails unless it gets this answer
   serves insist ADDRESS ANSWER TEXT    sends "hello", and the text only after this answer

   An address is a port, `v6:PORT`, or a path. The server's modes:
   lost     counts its visitors with a race, and aborts if a visit is lost
   sound    counts them atomically
   names    checks the addresses that it gets from the kernel
   silent   does not answer a visitor whose text is the second that it gets
   timed    looks every 100 ms whether there is something else to do
   order    answers with the number of the visit, so that answers differ with the order, and aborts if a
            visitor says "first"
   some     does not answer a visitor that reads the count of visits before another changes it
   waits    waits 50 ms for something else before it listens */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *mode;
static int visits, total;

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static socklen_t address_of(const char *text, struct sockaddr_storage *to) {
    memset(to, 0, sizeof *to);
    if (strchr(text, '/')) {
        struct sockaddr_un *path = (void *)to;
        path->sun_family = AF_UNIX;
        strncpy(path->sun_path, text, sizeof path->sun_path - 1);
        return sizeof *path;
    }
    if (strncmp(text, "v6:", 3) == 0) {
        struct sockaddr_in6 *six = (void *)to;
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(atoi(text + 3));
        six->sin6_addr = in6addr_loopback;
        return sizeof *six;
    }
    struct sockaddr_in *four = (void *)to;
    four->sin_family = AF_INET;
    four->sin_port = htons(atoi(text));
    four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sizeof *four;
}

/* Sends a line, and reads one. */
static int get(int server, const char *text, char answer[64]) {
    /* One write, so that the server reads a line whole. */
    if (dprintf(server, "%s\n", text) < 0)
        return 2;
    for (int at = 0; at < 63; at++) {
        ssize_t count = read(server, answer + at, 1);
        if (count <= 0)
            return 3;
        if (answer[at] == '\n') {
            answer[at] = 0;
            break;
        }
    }
    return 0;
}

static int ask(const char *where, char **texts, int insists) {
    struct sockaddr_storage address;
    socklen_t len = address_of(where, &address);
    int server = socket(address.ss_family, SOCK_STREAM, 0), failed = 0;
    char answer[64] = "";
    if (connect(server, (void *)&address, len)) {
        perror("connect");
        return 1;
    }
    if (insists) {
        failed = get(server, "hello", answer);
        if (!failed && strcmp(mode, "expect") == 0)
            failed = strcmp(answer, texts[0]) ? 4 : 0;
        else if (!failed && strcmp(answer, texts[0]) == 0)
            failed = get(server, texts[1], answer);
    }
    for (; !insists && !failed && *texts; texts++)
        failed = get(server, *texts, answer);
    close(server);
    return failed;
}

static void check_names(int connection, const char *where) {
    struct sockaddr_storage asked, own, peer;
    socklen_t len = address_of(where, &asked), own_len = sizeof own, peer_len = sizeof peer;
    check(getsockname(connection, (void *)&own, &own_len) == 0, "the socket has no name");
    check(own_len == len || asked.ss_family == AF_UNIX, "the length of the name differs");
    check(own.ss_family == asked.ss_family, "the family differs");
    if (asked.ss_family == AF_INET) {
        struct sockaddr_in *one = (void *)&own, *two = (void *)&asked, *it = (void *)&peer;
        check(one->sin_port == two->sin_port, "the port differs");
        check(one->sin_addr.s_addr == two->sin_addr.s_addr, "the host differs");
        check(getpeername(connection, (void *)&peer, &peer_len) == 0, "the peer has no name");
        check(it->sin_addr.s_addr == htonl(INADDR_LOOPBACK), "the peer is somewhere else");
        check(it->sin_port != 0 && it->sin_port != one->sin_port, "the peer has a wrong port");
        /* The same in each execution: it decides how many visits there seem to be. */
        total += ntohs(it->sin_port) & 1;
    }
    if (asked.ss_family == AF_UNIX) {
        struct sockaddr_un *one = (void *)&own;
        check(strcmp(one->sun_path, where) == 0, "the path differs");
    }
}

static void *serve(void *argument) {
    int connection = (int)(long)argument, number = 0;
    char line[64];
    ssize_t len;
    while ((len = read(connection, line, sizeof line - 1)) > 0) {
        line[len] = 0;
        if (strcmp(mode, "lost") == 0) {
            int seen = visits;
            visits = seen + 1;
        } else if (strcmp(mode, "some") == 0) {
            int seen = __atomic_load_n(&visits, __ATOMIC_SEQ_CST);
            if (__atomic_add_fetch(&visits, 1, __ATOMIC_SEQ_CST) != seen + 1)
                continue;
        } else {
            check(strcmp(mode, "order") || strcmp(line, "first\n"), "the second visitor is first");
            number = __atomic_add_fetch(&visits, 1, __ATOMIC_SEQ_CST);
        }
        if (strcmp(mode, "silent") == 0 && number == 2)
            continue;
        if (strcmp(mode, "order") == 0)
            dprintf(connection, "visit %d\n", number);
        else
            write(connection, "welcome\n", 8);
    }
    close(connection);
    if (__atomic_add_fetch(&total, 1, __ATOMIC_SEQ_CST) == 2 && strcmp(mode, "lost") == 0)
        check(__atomic_load_n(&visits, __ATOMIC_SEQ_CST) == 2, "a visit was lost");
    return NULL;
}

static void prepare(void) {
    if (strcmp(mode, "waits") == 0)
        usleep(50000);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    mode = argv[1];
    if (strcmp(mode, "ask") == 0)
        return ask(argv[2], argv + 3, 0);
    if (strcmp(mode, "insist") == 0 || strcmp(mode, "expect") == 0)
        return ask(argv[2], argv + 3, 1);
    struct sockaddr_storage address;
    socklen_t len = address_of(argv[2], &address);
    int listener = socket(address.ss_family, SOCK_STREAM, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    prepare();
    if (address.ss_family == AF_UNIX)
        unlink(argv[2]);
    if (bind(listener, (void *)&address, len) || listen(listener, 8)) {
        perror("bind");
        return 2;
    }
    if (strcmp(mode, "names") == 0 && address.ss_family != AF_UNIX) {
        struct sockaddr_storage own;
        socklen_t own_len = sizeof own;
        check(getsockname(listener, (void *)&own, &own_len) == 0, "the listener has no name");
        check(memcmp(&own, &address, len) == 0, "the listener has another name");
    }
    for (;;) {
        struct pollfd one = {.fd = listener, .events = POLLIN};
        if (strcmp(mode, "timed") == 0 && poll(&one, 1, 100) == 0)
            continue;
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            return 3;
        if (strcmp(mode, "names") == 0)
            check_names(connection, argv[2]);
        pthread_t thread;
        pthread_create(&thread, NULL, serve, (void *)(long)connection);
        pthread_detach(thread);
    }
}
