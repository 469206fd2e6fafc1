/* The cases of hidden_state.c: the name, what is done before, what the thread changes, how it changes that back, and
   what main looks at, which is true if it meets the change. */

/* One memory */
CASE(mapping_written_pread, map_file(), page[0] = 1, page[0] = 0, byte_at(fd, 0) == 1)
CASE(mapping_written_read, map_file(), page[0] = 1, page[0] = 0, read_byte(fd) == 1)
CASE(pwrite_mapping_read, map_file(), put(fd, 1, 0), put(fd, 0, 0), page[0] == 1)
CASE(mapping_written_copied, (map_file(), other = file("copy")), page[0] = 1, page[0] = 0,
     copy_file_range(fd, NULL, other, NULL, 1, 0) == 1 && byte_at(other, 0) == 1)
CASE(mapping_of_second_descriptor, (map_file(), other = open("mapped", O_RDWR)), page[0] = 1, page[0] = 0,
     byte_at(other, 0) == 1)
CASE(mapping_of_closed_descriptor, (map_file(), close(fd), other = open("mapped", O_RDWR)), page[0] = 1, page[0] = 0,
     byte_at(other, 0) == 1)
CASE(mapping_written_by_stream, (map_file(), stream = fdopen(fd, "r")), page[0] = 1, page[0] = 0, fgetc(stream) == 1)
CASE(mapping_written_writev, map_file(), (pwritev(fd, &(struct iovec){"\1", 1}, 1, 0)),
     (pwritev(fd, &(struct iovec){"\0", 1}, 1, 0)), page[0] == 1)
CASE(mapping_written_preadv, map_file(), page[0] = 1, page[0] = 0,
     preadv(fd, &(struct iovec){text, 1}, 1, 0) == 1 && text[0] == 1)

/* Names of threads */
CASE(name_of_first, pthread_setname_np(first, "a"), pthread_setname_np(first, "b"), pthread_setname_np(first, "a"),
     name_is("b"))
CASE(name_by_prctl, pthread_setname_np(first, "a"), pthread_setname_np(first, "b"), pthread_setname_np(first, "a"),
     (prctl(PR_GET_NAME, text), text[0] == 'b'))
CASE(name_in_proc_read, pthread_setname_np(first, "a"), pthread_setname_np(first, "b"), pthread_setname_np(first, "a"),
     name_in_proc('b'))
CASE(name_in_proc_written, pthread_setname_np(first, "a"), set_name_in_proc("b"), set_name_in_proc("a"), name_is("b"))
CASE(name_in_proc_both, pthread_setname_np(first, "a"), set_name_in_proc("b"), set_name_in_proc("a"),
     name_in_proc('b'))

/* Descriptors */
CASE(descriptor_flags, fd = file("x"), fcntl(fd, F_SETFD, FD_CLOEXEC), fcntl(fd, F_SETFD, 0), fcntl(fd, F_GETFD))
CASE(descriptor_flags_of_output, , fcntl(1, F_SETFD, FD_CLOEXEC), fcntl(1, F_SETFD, 0), fcntl(1, F_GETFD))
CASE(descriptor_flags_of_input, , fcntl(0, F_SETFD, FD_CLOEXEC), fcntl(0, F_SETFD, 0), fcntl(0, F_GETFD))
CASE(descriptor_flags_of_timer, fd = timerfd_create(CLOCK_MONOTONIC, 0), fcntl(fd, F_SETFD, FD_CLOEXEC),
     fcntl(fd, F_SETFD, 0), fcntl(fd, F_GETFD))
CASE(descriptor_flags_by_ioctl, , ioctl(1, FIOCLEX), ioctl(1, FIONCLEX), fcntl(1, F_GETFD))
CASE(status_flags, fd = file("x"), fcntl(fd, F_SETFL, O_APPEND), fcntl(fd, F_SETFL, 0), open_flags(fd) & O_APPEND)
CASE(status_flags_of_output, , fcntl(1, F_SETFL, O_NONBLOCK), fcntl(1, F_SETFL, 0), open_flags(1) & O_NONBLOCK)
CASE(status_flags_by_ioctl, address_pair(), ioctl(fd, FIONBIO, &(int){1}), ioctl(fd, FIONBIO, &(int){0}),
     open_flags(fd) & O_NONBLOCK)
CASE(status_flags_of_duplicate, (address_pair(), other = dup(fd)), fcntl(other, F_SETFL, O_NONBLOCK),
     fcntl(other, F_SETFL, 0), open_flags(fd) & O_NONBLOCK)
CASE(offset_of_duplicate, (fd = file("x"), other = dup(fd)), lseek(other, 9, SEEK_SET), lseek(other, 0, SEEK_SET),
     lseek(fd, 0, SEEK_CUR) == 9)
CASE(duplicate_by_fcntl, (address_pair(), other = fcntl(fd, F_DUPFD, 20)), fcntl(other, F_SETFL, O_NONBLOCK),
     fcntl(other, F_SETFL, 0), open_flags(fd) & O_NONBLOCK)
CASE(append, (fd = file("x"), put(fd, 'a', 0)), fcntl(fd, F_SETFL, O_APPEND), fcntl(fd, F_SETFL, 0),
     write(fd, "b", 1) == 1 && byte_at(fd, 0) == 'a')
CASE(lowest_free, other = dup(0), close(other), dup(0), free_descriptor() == other)
CASE(replaced_by_dup2, (fd = file("x"), other = file("y"), put(other, 'y', 0)), dup2(other, fd), , byte_at(fd, 0) == 'y')
CASE(size_of_pipe, pipe(ends), fcntl(ends[0], F_SETPIPE_SZ, 4096), fcntl(ends[0], F_SETPIPE_SZ, 65536),
     fcntl(ends[1], F_GETPIPE_SZ) == 4096)
CASE(bytes_in_pipe, pipe(ends), send_bytes(1), read_byte(ends[0]), waiting(ends[0]) == 1)
CASE(bytes_in_pipe_polled, pipe(ends), send_bytes(1), read_byte(ends[0]), polled(ends[0]))
CASE(owner_of_descriptor, address_pair(), fcntl(fd, F_SETOWN, getpid()), fcntl(fd, F_SETOWN, 0), fcntl(fd, F_GETOWN))
CASE(owner_by_ioctl, address_pair(), ioctl(fd, FIOSETOWN, &(int){getpid()}), ioctl(fd, FIOSETOWN, &(int){0}),
     fcntl(fd, F_GETOWN))
CASE(lease, fd = open("x", O_RDONLY | O_CREAT, 0600), fcntl(fd, F_SETLEASE, F_RDLCK), fcntl(fd, F_SETLEASE, F_UNLCK),
     fcntl(fd, F_GETLEASE) == F_RDLCK)
CASE(record_lock, (fd = file("x"), other = open("x", O_RDWR)), lock(F_WRLCK), lock(F_UNLCK), locked())
CASE(whole_lock, (fd = file("x"), other = open("x", O_RDWR)), flock(other, LOCK_EX), flock(other, LOCK_UN),
     flock(fd, LOCK_EX | LOCK_NB))
CASE(seals, fd = memfd_create("x", MFD_ALLOW_SEALING), fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), ,
     fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE)
CASE(seals_seen_by_write, fd = memfd_create("x", MFD_ALLOW_SEALING), fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), ,
     write(fd, "x", 1) < 0)
CASE(event_counter, fd = eventfd(0, EFD_NONBLOCK), eventfd_write(fd, 1), eventfd_read(fd, &(eventfd_t){0}),
     eventfd_read(fd, &(eventfd_t){0}) == 0)
CASE(event_counter_polled, fd = eventfd(0, EFD_NONBLOCK), eventfd_write(fd, 1), eventfd_read(fd, &(eventfd_t){0}),
     polled(fd))
CASE(set_of_events, (fd = eventfd(1, 0), other = epoll_create1(0)), member(EPOLL_CTL_ADD), member(EPOLL_CTL_DEL),
     epolled())
CASE(set_of_events_polled, (fd = eventfd(1, 0), other = epoll_create1(0)), member(EPOLL_CTL_ADD),
     member(EPOLL_CTL_DEL), polled(other))
CASE(event_in_set, (fd = eventfd(0, EFD_NONBLOCK), other = epoll_create1(0), member(EPOLL_CTL_ADD)),
     eventfd_write(fd, 1), eventfd_read(fd, &(eventfd_t){0}), epolled())
CASE(timer_descriptor, fd = timerfd_create(CLOCK_MONOTONIC, 0), arm(1000), arm(0), is_armed())
CASE(watch_of_directory, (fd = inotify_init1(IN_NONBLOCK), inotify_add_watch(fd, ".", IN_CREATE)), close(file("new")), ,
     read(fd, text, sizeof text) > 0)
CASE(watch_added, fd = inotify_init1(IN_NONBLOCK), inotify_add_watch(fd, ".", IN_CREATE),
     inotify_rm_watch(fd, 1), (close(file("new")), read(fd, text, sizeof text) > 0))
CASE(watch_waiting, (fd = inotify_init1(IN_NONBLOCK), inotify_add_watch(fd, ".", IN_CREATE)), close(file("new")), ,
     waiting(fd))

/* Sockets */
CASE(option_of_socket, fd = socket(AF_INET, SOCK_STREAM, 0), set_option(SOL_SOCKET, SO_KEEPALIVE, 1),
     set_option(SOL_SOCKET, SO_KEEPALIVE, 0), option(SOL_SOCKET, SO_KEEPALIVE))
CASE(option_of_duplicate, (other = socket(AF_INET, SOCK_STREAM, 0), fd = dup(other)),
     setsockopt(other, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, 4), setsockopt(other, SOL_SOCKET, SO_KEEPALIVE, &(int){0}, 4),
     option(SOL_SOCKET, SO_KEEPALIVE))
CASE(shut_down, address_pair(), shutdown(ends[1], SHUT_WR), , recv(fd, text, 1, MSG_DONTWAIT) == 0)
CASE(peeked, address_pair(), send_bytes(1), recv(fd, text, 1, 0), recv(fd, text, 1, MSG_DONTWAIT | MSG_PEEK) == 1)
CASE(bytes_in_socket, address_pair(), send_bytes(1), recv(fd, text, 1, 0), waiting(fd) == 1)
CASE(bytes_unsent, address_pair(), send_bytes(1), recv(fd, text, 1, 0), (ioctl(ends[1], TIOCOUTQ, text), text[0] | text[1]))
CASE(name_of_socket, (own_name(), fd = socket(AF_UNIX, SOCK_STREAM, 0)), bind(fd, (struct sockaddr *)&local, local_size), , name_size() > 2)
CASE(listening, (own_name(), fd = socket(AF_UNIX, SOCK_STREAM, 0), bind(fd, (struct sockaddr *)&local, local_size)), listen(fd, 1), ,
     option(SOL_SOCKET, SO_ACCEPTCONN))
CASE(peer_of_socket, (own_name(), fd = socket(AF_UNIX, SOCK_DGRAM, 0), other = socket(AF_UNIX, SOCK_DGRAM, 0),
     bind(other, (struct sockaddr *)&local, local_size)), connect(fd, (struct sockaddr *)&local, local_size), ,
     getpeername(fd, (struct sockaddr *)&found, &(socklen_t){sizeof found}) == 0)
CASE(bound_address, (own_name(), fd = socket(AF_UNIX, SOCK_DGRAM, 0), other = socket(AF_UNIX, SOCK_DGRAM, 0)),
     bind(other, (struct sockaddr *)&local, local_size), close(other), connect(fd, (struct sockaddr *)&local, local_size) == 0)

/* Files and directories */
CASE(exists, , close(file("new")), unlink("new"), there("new"))
CASE(exists_by_open, , close(file("new")), unlink("new"), open("new", O_RDONLY) >= 0)
CASE(exists_by_openat, , close(file("new")), unlink("new"), openat(AT_FDCWD, "new", O_RDONLY) >= 0)
CASE(exists_by_stat, , close(openat(AT_FDCWD, "new", O_CREAT | O_RDWR, 0600)), unlinkat(AT_FDCWD, "new", 0),
     stat("new", &status) == 0)
CASE(exists_by_link, close(file("new")), link("new", "second"), unlink("second"), there("second"))
CASE(number_of_links, close(file("new")), link("new", "second"), unlink("second"), links("new") == 2)
CASE(number_of_links_open, fd = file("new"), link("new", "second"), unlink("second"),
     (fstat(fd, &status), status.st_nlink == 2))
CASE(number_of_links_linkat, fd = file("new"), linkat(AT_FDCWD, "new", AT_FDCWD, "second", 0), unlink("second"),
     (fstat(fd, &status), status.st_nlink == 2))
CASE(renamed, close(file("new")), rename("new", "second"), rename("second", "new"), !there("new"))
CASE(directory_made, , mkdir("made", 0700), rmdir("made"), there("made"))
CASE(directory_position, list = opendir("."), readdir(list), rewinddir(list), telldir(list) != 0)
CASE(symbolic_link, , symlink("x", "made"), unlink("made"), readlink("made", text, sizeof text) > 0)
CASE(mode, close(file("new")), chmod("new", 0640), chmod("new", 0600), (stat("new", &status), status.st_mode & 040))
CASE(mode_by_descriptor, fd = file("new"), fchmod(fd, 0640), fchmod(fd, 0600),
     (stat("new", &status), status.st_mode & 040))
CASE(mode_at, fd = file("new"), fchmodat(AT_FDCWD, "new", 0640, 0), fchmodat(AT_FDCWD, "new", 0600, 0),
     (fstat(fd, &status), status.st_mode & 040))
CASE(times, close(file("new")), set_time("new", 1000), set_time("new", 2000), time_of("new") == 1000)
CASE(times_of_descriptor, fd = file("new"), set_time("new", 1000), set_time("new", 2000),
     (fstat(fd, &status), status.st_mtim.tv_sec == 1000))
CASE(times_at, fd = file("new"), utimensat(AT_FDCWD, "new", (struct timespec[2]){{1000, 0}, {1000, 0}}, 0),
     utimensat(AT_FDCWD, "new", (struct timespec[2]){{2000, 0}, {2000, 0}}, 0),
     (fstat(fd, &status), status.st_mtim.tv_sec == 1000))
CASE(size, fd = file("new"), ftruncate(fd, 100), ftruncate(fd, 0), (stat("new", &status), status.st_size == 100))
CASE(size_by_path, fd = file("new"), truncate("new", 100), truncate("new", 0),
     (fstat(fd, &status), status.st_size == 100))
CASE(attribute_by_path, fd = file("new"), setxattr("new", "user.x", "y", 1, 0), removexattr("new", "user.x"),
     attribute())
CASE(attribute_by_descriptor, fd = file("new"), fsetxattr(fd, "user.x", "y", 1, 0), fremovexattr(fd, "user.x"),
     listxattr("new", text, sizeof text) > 0)
CASE(mask_of_modes, , umask(077), umask(022), mode_of_new("new") == 0600)
CASE(mask_of_modes_openat, , umask(077), umask(022),
     (fd = openat(AT_FDCWD, "new", O_CREAT | O_RDWR, 0666), fstat(fd, &status), (status.st_mode & 0777) == 0600))
CASE(mask_of_modes_mkdir, , umask(077), umask(022),
     (mkdir("made", 0777), stat("made", &status), (status.st_mode & 0777) == 0700))
CASE(mask_of_modes_fopen, , umask(077), umask(022),
     (stream = fopen("new", "w"), fstat(fileno(stream), &status), (status.st_mode & 0777) == 0600))
CASE(working_directory, (mkdir("made", 0700), close(file("new"))), chdir("made"), chdir(".."), !there("new"))
CASE(working_directory_open, (mkdir("made", 0700), close(file("new"))), chdir("made"), chdir(".."),
     open("new", O_RDONLY) < 0)
CASE(working_directory_openat, (mkdir("made", 0700), close(file("new"))), chdir("made"), chdir(".."),
     openat(AT_FDCWD, "new", O_RDONLY) < 0)
CASE(working_directory_fchdir, (mkdir("made", 0700), fd = open("made", O_RDONLY), other = open(".", O_RDONLY)),
     fchdir(fd), fchdir(other), strstr(getcwd(text, sizeof text), "made") != NULL)

/* The process and its threads */
CASE(priority_of_process, , setpriority(PRIO_PROCESS, getpid(), 5), , getpriority(PRIO_PROCESS, 0) == 5)
CASE(priority_of_task, , setpriority(PRIO_PROCESS, getpid(), 5), setpriority(PRIO_PROCESS, getpid(), 0),
     getpriority(PRIO_PROCESS, gettid()) == 5)
CASE(priority_of_group, , setpriority(PRIO_PGRP, 0, 5), setpriority(PRIO_PGRP, 0, 0),
     getpriority(PRIO_PGRP, 0) == 5)
CASE(limit_of_files, , set_limit(RLIMIT_NOFILE, 100), set_limit(RLIMIT_NOFILE, 200), limit(RLIMIT_NOFILE) == 100)
CASE(limit_met_by_open, , set_limit(RLIMIT_NOFILE, 3), set_limit(RLIMIT_NOFILE, 200), open("/dev/null", O_RDONLY) < 0)
CASE(limit_met_by_dup, , set_limit(RLIMIT_NOFILE, 3), set_limit(RLIMIT_NOFILE, 200), dup(0) < 0)
CASE(limit_met_by_pipe, , set_limit(RLIMIT_NOFILE, 3), set_limit(RLIMIT_NOFILE, 200), pipe(ends) < 0)
CASE(limit_by_sysconf, , set_limit(RLIMIT_NOFILE, 100), set_limit(RLIMIT_NOFILE, 200), sysconf(_SC_OPEN_MAX) == 100)
CASE(limit_by_getdtablesize, , set_limit(RLIMIT_NOFILE, 100), set_limit(RLIMIT_NOFILE, 200), getdtablesize() == 100)
CASE(limit_met_by_write, (fd = file("x"), signal(SIGXFSZ, SIG_IGN)), set_limit(RLIMIT_FSIZE, 0),
     set_limit(RLIMIT_FSIZE, 1000), write(fd, "x", 1) < 0)
CASE(limit_met_by_mmap, , set_limit(RLIMIT_AS, 4096), set_limit(RLIMIT_AS, -1),
     mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
CASE(limit_met_by_malloc, , set_limit(RLIMIT_AS, 4096), set_limit(RLIMIT_AS, -1), malloc(64 << 20) == NULL)
CASE(limit_met_by_mlock, page = malloc(4096), set_limit(RLIMIT_MEMLOCK, 0), set_limit(RLIMIT_MEMLOCK, 8192),
     limit(RLIMIT_MEMLOCK) == 0)
CASE(limit_of_stack_of_thread, , set_limit(RLIMIT_STACK, 1 << 20), set_limit(RLIMIT_STACK, 8 << 20),
     limit(RLIMIT_STACK) == 1 << 20)
CASE(policy, , set_policy(SCHED_BATCH, 0), set_policy(SCHED_OTHER, 0), policy_is(SCHED_BATCH))
CASE(policy_by_sched, , sched_setscheduler(getpid(), SCHED_BATCH, &(struct sched_param){0}),
     sched_setscheduler(getpid(), SCHED_OTHER, &(struct sched_param){0}), sched_getscheduler(0) == SCHED_BATCH)
CASE(policy_seen_by_pthread, , sched_setscheduler(getpid(), SCHED_BATCH, &(struct sched_param){0}),
     sched_setscheduler(getpid(), SCHED_OTHER, &(struct sched_param){0}), policy_is(SCHED_BATCH))
CASE(processors_of_thread, , set_processors(0), set_processors(1), processors() == 1)
CASE(processors_by_sched, , set_processors(0), set_processors(1),
     (sched_getaffinity(0, sizeof set, &set), CPU_COUNT(&set) == 1))
CASE(default_attributes, , set_default_stack(1 << 20), set_default_stack(1 << 21), default_stack() == 1 << 20)
CASE(default_attributes_init, , set_default_stack(1 << 20), set_default_stack(1 << 21), initial_stack() == 1 << 20)
CASE(concurrency, , pthread_setconcurrency(3), pthread_setconcurrency(0), pthread_getconcurrency() == 3)
CASE(dumpable, , prctl(PR_SET_DUMPABLE, 0), prctl(PR_SET_DUMPABLE, 1), prctl(PR_GET_DUMPABLE) == 0)
CASE(subreaper, , prctl(PR_SET_CHILD_SUBREAPER, 1), prctl(PR_SET_CHILD_SUBREAPER, 0),
     (prctl(PR_GET_CHILD_SUBREAPER, &status), *(int *)&status == 1))
CASE(huge_pages, , prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0),
     prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
CASE(group_of_process, , setpgid(0, 0), , getpgrp() == getpid())
CASE(groups, setgroups(0, NULL), setgroups(1, &(gid_t){7}), setgroups(0, NULL), has_group(7))
CASE(effective_user, , seteuid(1), seteuid(0), geteuid() == 1)
CASE(effective_user_resuid, , seteuid(1), seteuid(0), (getresuid(ids, ids + 1, ids + 2), ids[1] == 1))
CASE(effective_group, , setegid(1), setegid(0), getegid() == 1)
CASE(effective_user_opens, (close(open("new", O_CREAT | O_RDWR, 0600))), seteuid(1), seteuid(0),
     open("new", O_RDONLY) < 0)

/* Memory */
CASE(end_of_heap, top = sbrk(0), sbrk(4096), sbrk(-4096), sbrk(0) != top)
CASE(protection, map_file(), mprotect((void *)page, 4096, PROT_NONE), mprotect((void *)page, 4096, PROT_READ), page[0])
CASE(protection_seen_by_read, (map_file(), pipe(ends), send_bytes(1)), mprotect((void *)page, 4096, PROT_READ),
     mprotect((void *)page, 4096, PROT_READ | PROT_WRITE), read(ends[0], (void *)page, 1) < 0)
CASE(discarded, (page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), page[0] = 1),
     madvise((void *)page, 4096, MADV_DONTNEED), , page[0] == 0)
CASE(unmapped, (page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), munmap((void *)page, 4096), ,
     mincore((void *)page, 4096, (unsigned char *)text) < 0)
CASE(resident_pages, (page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), page[0] = 1, ,
     resident())
CASE(locked_pages, (page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
     mlock((void *)page, 4096), munlock((void *)page, 4096), madvise((void *)page, 4096, MADV_DONTNEED) < 0)
CASE(locked_future, , mlockall(MCL_FUTURE), munlockall(),
     (page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      madvise((void *)page, 4096, MADV_DONTNEED) < 0))
CASE(allocation_option, , mallopt(M_PERTURB, 85), mallopt(M_PERTURB, 0), *(unsigned char *)malloc(40) == 170)
CASE(allocation_counts, blocks = mallinfo2().uordblks, handle = malloc(100), free(handle), mallinfo2().uordblks != blocks)

/* Signals and timers */
CASE(disposition_ignored, , signal(SIGUSR1, SIG_IGN), signal(SIGUSR1, SIG_DFL), disposition(SIGUSR1))
CASE(disposition_by_action, , action(SIGUSR1, SIG_IGN), action(SIGUSR1, SIG_DFL), signal(SIGUSR1, SIG_DFL) == SIG_IGN)
CASE(pending_signal, (block(SIGUSR1)), kill(getpid(), SIGUSR1), , is_pending(SIGUSR1))
CASE(posix_timer, timer_create(CLOCK_MONOTONIC, NULL, &timer), arm_timer(1000), arm_timer(0), timer_is_armed())
CASE(interval_timer, , interval(1000), interval(0), interval_is_set())
CASE(alarm_left, , alarm(1000), alarm(0), alarm(0) > 0)

/* The C library */
CASE(environment, , setenv("HEDDLE_X", "1", 1), unsetenv("HEDDLE_X"), getenv("HEDDLE_X") != NULL)
CASE(environment_secure, , setenv("HEDDLE_X", "1", 1), unsetenv("HEDDLE_X"), secure_getenv("HEDDLE_X") != NULL)
CASE(environment_cleared, setenv("HEDDLE_X", "1", 1), clearenv(), setenv("HEDDLE_X", "1", 1), !getenv("HEDDLE_X"))
CASE(environment_tmpdir, , setenv("TMPDIR", "/", 1), unsetenv("TMPDIR"), tempnam(NULL, "x")[1] != 't')
CASE(locale_name, , setlocale(LC_ALL, "C.UTF-8"), setlocale(LC_ALL, "C"), setlocale(LC_ALL, NULL)[1] == '.')
CASE(locale_length, , setlocale(LC_ALL, "C.UTF-8"), setlocale(LC_ALL, "C"), MB_CUR_MAX > 1)
CASE(locale_conversion, , setlocale(LC_ALL, "C.UTF-8"), setlocale(LC_ALL, "C"), mblen("\303\244", 2) == 2)
CASE(locale_printed, , setlocale(LC_ALL, "C.UTF-8"), setlocale(LC_ALL, "C"),
     snprintf(text, sizeof text, "%ls", L"\344") == 2)
CASE(locale_by_langinfo, , setlocale(LC_ALL, "C.UTF-8"), setlocale(LC_ALL, "C"), strlen(nl_langinfo(CODESET)) == 5)
CASE(random_seeded, (srand(1), expected = rand(), srand(1)), srand(2), srand(1), rand() != expected)
CASE(random_by_random, (srandom(1), expected = random(), srandom(1)), random(), srandom(1), random() != expected)
CASE(random_state, (expected = random(), srandom(1), expected = random(), srandom(1)), initstate(2, text, 32), , random() != expected)
CASE(random48, (srand48(1), expected = lrand48(), srand48(1)), lrand48(), srand48(1), lrand48() != expected)
CASE(random48_lcong, (srand48(1), expected = mrand48(), srand48(1)), lcong48(seed), srand48(1), mrand48() != expected)
CASE(random48_seed, (srand48(1), expected = mrand48(), srand48(1)), seed48(seed), srand48(1), mrand48() != expected)
CASE(random48_own_state, (srand48(1), expected = nrand48((unsigned short *)memcpy(text, seed, 6))), lcong48(seed), srand48(1),
     nrand48((unsigned short *)memcpy(text, seed, 6)) != expected)
CASE(token, strcpy(text, "a b c d"), strtok(text, " "), , strtok(NULL, " ") != NULL)
CASE(hash_table, hcreate(10), enter("x"), , entered("x"))
CASE(hash_table_made, , hcreate(10), hdestroy(), hcreate(10) == 0)
CASE(tree, , tsearch("x", (void **)&handle, compare), ,
     tfind("x", (void **)&handle, compare) != NULL)
CASE(options, , getopt_result(), , getopt_result() == 'b')
CASE(options_reset, , optind = 2, optind = 1, getopt_result() == 'b')
CASE(time_result, broken_down = gmtime(&(time_t){0}), gmtime(&(time_t){1 << 30}), gmtime(&(time_t){0}), broken_down->tm_year == 104)
CASE(text_of_number, result = l64a(6), l64a(5), l64a(6), result[0] != '4')
CASE(user_next, setpwent(), getpwent(), setpwent(), strcmp(getpwent()->pw_name, "root"))
CASE(group_next, setgrent(), getgrent(), setgrent(), strcmp(getgrent()->gr_name, "root"))
CASE(service_next, (setservent(1), service = getservent(), expected = service ? service->s_port : 0, setservent(1)), getservent(),
     setservent(1), (service = getservent()) && service->s_port != expected)
CASE(logged_mask, , setlogmask(1), setlogmask(255), setlogmask(0) == 1)
CASE(library_loaded, , handle = dlopen("libm.so.6", RTLD_NOW), dlclose(handle), loaded())
CASE(library_listed, , handle = dlopen("libm.so.6", RTLD_NOW), dlclose(handle), listed("libm.so"))
CASE(message_domain, textdomain("a"), textdomain("b"), textdomain("a"), textdomain(NULL)[0] == 'b')
CASE(conversion_state, setlocale(LC_ALL, "C.UTF-8"), mbrtowc(NULL, "\303", 1, NULL), mbrtowc(NULL, NULL, 0, NULL),
     mbrtowc(NULL, "a", 1, NULL) == (size_t)-1)
CASE(conversion_state_mbtowc, setlocale(LC_ALL, "C.UTF-8"), mbtowc(NULL, "\303", 1), mbtowc(NULL, NULL, 0),
     mbtowc(NULL, "a", 1) == -1)

/* Streams */
CASE(orientation, stream = fopen("x", "w+"), fwide(stream, 1), , has_wide())
CASE(pushed_back, (stream = fopen("x", "w+"), fputs("ab", stream), rewind(stream)), ungetc('x', stream), getc(stream),
     getc(stream) == 'x')
CASE(position_of_stream, (stream = fopen("x", "w+"), fputs("ab", stream)), rewind(stream), fseek(stream, 2, SEEK_SET),
     ftell(stream) == 0)
CASE(end_of_stream, (stream = fopen("x", "w+")), getc(stream), clearerr(stream), feof(stream))
CASE(error_of_stream, (stream = fopen("x", "r+"), stream = stream ? stream : fopen("/dev/full", "w"), setbuf(stream, NULL)),
     fputc('x', stream), clearerr(stream), ferror(stream))
CASE(lock_of_stream, stream = fopen("x", "w+"), flockfile(stream), funlockfile(stream), ftrylockfile(stream))
CASE(unflushed, (stream = fopen("x", "w+"), fputc('x', stream)), fflush(stream), , size_of_file("x") == 1)
CASE(unflushed_all, (stream = fopen("x", "w+"), fputc('x', stream)), fflush(NULL), , size_of_file("x") == 1)
CASE(unflushed_all_fcloseall, (stream = fopen("x", "w+"), fputc('x', stream)), fcloseall(), , size_of_file("x") == 1)
CASE(unflushed_flushlbf, (stream = fopen("x", "w+"), setlinebuf(stream), fputc('x', stream)), _flushlbf(), , size_of_file("x") == 1)
CASE(unflushed_mmap, (map_file(), stream = fdopen(dup(fd), "w"), fputc(1, stream)), fflush(stream), , page[0] == 1)
CASE(pending_bytes, stream = fopen("x", "w+"), fputc('x', stream), fflush(stream), __fpending(stream) == 1)
CASE(discarded_bytes, (stream = fopen("x", "w+"), fputc('x', stream)), __fpurge(stream), fputc('x', stream), __fpending(stream) == 0)
CASE(buffer_size, stream = fopen("x", "w+"), setvbuf(stream, NULL, _IONBF, 0), , __fbufsize(stream) == 1)
CASE(line_buffered, stream = fopen("x", "w+"), setlinebuf(stream), , __flbf(stream))
CASE(reading, (stream = fopen("x", "w+"), fputs("ab", stream), rewind(stream)), getc(stream), , __freading(stream))
CASE(locking, stream = fopen("x", "w+"), __fsetlocking(stream, FSETLOCKING_BYCALLER), __fsetlocking(stream, FSETLOCKING_INTERNAL),
     __fsetlocking(stream, FSETLOCKING_QUERY) == FSETLOCKING_BYCALLER)
CASE(reopened, stream = fopen("x", "w+"), freopen("y", "w+", stream), , (fputs("a", stream), fflush(stream), size_of_file("y") == 1))
CASE(standard_replaced, stream = stdout, stdout = stderr, stdout = stream, fileno(stdout) == 2)

/* Further */
CASE(zone_of_name, (setenv("TZ", "UTC0", 1), tzset()), (setenv("TZ", "XYZ5", 1), tzset()), (setenv("TZ", "UTC0", 1), tzset()),
     timezone == 18000)
CASE(zone_of_localtime, (setenv("TZ", "UTC0", 1), tzset()), setenv("TZ", "XYZ-5", 1), setenv("TZ", "UTC0", 1), hour(0) == 5)
CASE(zone_of_localtime_r, (setenv("TZ", "UTC0", 1), tzset()), (setenv("TZ", "XYZ-5", 1), tzset()),
     (setenv("TZ", "UTC0", 1), tzset()), hour(1) == 5)
CASE(zone_of_mktime, (setenv("TZ", "UTC0", 1), tzset()), setenv("TZ", "XYZ-5", 1), setenv("TZ", "UTC0", 1),
     mktime(&(struct tm){.tm_year = 70, .tm_mday = 1}) != 0)
CASE(zone_of_ctime_r, (setenv("TZ", "UTC0", 1), tzset()), (setenv("TZ", "XYZ-5", 1), tzset()),
     (setenv("TZ", "UTC0", 1), tzset()), ctime_r(&(time_t){0}, text)[12] == '5')
CASE(own_call_lseek, fd = file("x"), syscall(SYS_lseek, fd, 9, SEEK_SET), syscall(SYS_lseek, fd, 0, SEEK_SET),
     syscall(SYS_lseek, fd, 0, SEEK_CUR) == 9)
CASE(own_call_pwrite, (fd = file("x"), put(fd, 0, 0)), syscall(SYS_pwrite64, fd, "\1", 1L, 0L),
     syscall(SYS_pwrite64, fd, "\0", 1L, 0L), byte_at(fd, 0) == 1)
CASE(own_call_umask, , syscall(SYS_umask, 077), syscall(SYS_umask, 022), syscall(SYS_umask, 022) == 077)
CASE(own_call_close, other = dup(0), syscall(SYS_close, other), dup(0), free_descriptor() == other)
CASE(own_call_fills, text[0] = 0, syscall(SYS_getrandom, text, 8L, 0L), memset(text, 0, 8), *(volatile long *)text != 0)
CASE(duplicate_of_event, (fd = eventfd(0, EFD_NONBLOCK), other = dup(fd)), eventfd_write(other, 1),
     eventfd_read(other, &(eventfd_t){0}), eventfd_read(fd, &(eventfd_t){0}) == 0)
CASE(duplicate_of_event_polled, (fd = eventfd(0, EFD_NONBLOCK), other = dup(fd)), eventfd_write(other, 1),
     eventfd_read(other, &(eventfd_t){0}), polled(fd))
CASE(duplicate_of_set, (fd = eventfd(1, 0), other = epoll_create1(0), ends[0] = dup(other)), member(EPOLL_CTL_ADD),
     member(EPOLL_CTL_DEL), (other = ends[0], epolled()))
CASE(duplicate_of_pipe, (pipe(ends), fcntl(ends[0], F_SETFL, O_NONBLOCK), other = dup(ends[0])), send_bytes(1),
     read_byte(ends[0]), read_byte(other) == 0 && errno != EAGAIN)
CASE(duplicate_of_pipe_nonblocking, (pipe(ends), send_bytes(1), other = dup(ends[0])), fcntl(other, F_SETFL, O_NONBLOCK),
     fcntl(other, F_SETFL, 0), open_flags(ends[0]) & O_NONBLOCK)
CASE(duplicate_of_directory, (list = opendir("."), other = dup(dirfd(list))), lseek(other, 0, SEEK_END), ,
     lseek(dirfd(list), 0, SEEK_CUR) != 0)
CASE(standard_stream_replaced, fd = file("x"), dup2(fd, 1), , write(1, "x", 1) == 1 && byte_at(fd, 0) == 'x')
CASE(standard_stream_closed, , close(2), , fcntl(2, F_GETFD) < 0)
CASE(truncated_by_open, (map_file(), page[0] = 1), close(open("mapped", O_RDWR | O_TRUNC)), ftruncate(fd, 4096),
     byte_at(fd, 0) == 0)
CASE(truncated_mapping, (map_file(), page[0] = 1), (truncate("mapped", 0), truncate("mapped", 4096)), , page[0] == 0)
CASE(appended_mapping, (map_file(), ftruncate(fd, 0), other = open("mapped", O_RDWR | O_APPEND)), write(other, "\1", 1),
     ftruncate(fd, 4096), fstat(fd, &status) == 0 && status.st_size == 1 && page[0] == 1)
CASE(mapping_of_second_part, (map_file(), page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)), page[8] = 1,
     page[8] = 0, byte_at(fd, 8) == 1)
CASE(mapping_stream_flushed, (map_file(), stream = fdopen(fd, "r+")), (fputc(1, stream), fflush(stream)), , page[0] == 1)
CASE(anonymous_segment, (page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), page[0] = 1,
     page[0] = 0, page[0] == 1)
CASE(own_memory_read, page = (char *)&expected, expected = 1, expected = 0,
     (pread(open("/proc/self/mem", O_RDONLY), text, 1, (off_t)page), text[0] == 1))
CASE(status_of_process, pthread_setname_np(first, "a"), pthread_setname_np(first, "b"), pthread_setname_np(first, "a"),
     strstr(said_of_process("status"), "\tb\n") != NULL)
CASE(descriptors_in_proc, , fd = dup(0), close(fd), (list = opendir("/proc/self/fd"), entries() > 6))
CASE(mapped_in_proc, , (page = mmap(0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), munmap((void *)page, 4096),
     strstr(said_of_process("maps"), "/dev/zero") != NULL)
CASE(message_queue, , (fd = msgget(77, IPC_CREAT | 0600)), msgctl(fd, IPC_RMID, NULL), msgget(77, 0) >= 0)
CASE(shared_segment, , (fd = shmget(77, 4096, IPC_CREAT | 0600)), shmctl(fd, IPC_RMID, NULL), shmget(77, 0, 0) >= 0)
CASE(semaphore_set, fd = semget(IPC_PRIVATE, 1, 0600), semctl(fd, 0, SETVAL, 3), semctl(fd, 0, SETVAL, 0),
     semctl(fd, 0, GETVAL) == 3)
CASE(named_semaphore, sem_unlink("/heddle-x"), sem_open("/heddle-x", O_CREAT, 0600, 0), sem_unlink("/heddle-x"),
     sem_open("/heddle-x", 0) != SEM_FAILED)
CASE(shared_object, shm_unlink("/heddle-x"), shm_open("/heddle-x", O_CREAT | O_RDWR, 0600), shm_unlink("/heddle-x"),
     shm_open("/heddle-x", O_RDWR, 0600) >= 0)
CASE(temporary_name, , (fd = file("x")), unlink("x"), access("x", R_OK) == 0)
CASE(wide_token, wcscpy(wide, L"a b c"), wcstok(wide, L" ", &rest), wcscpy(wide, L"a b c"), wide[1] == 0)
CASE(own_random, (initstate_r(1, text, 32, &own), random_r(&own, &number), srandom_r(1, &own)), random_r(&own, &other),
     srandom_r(1, &own), (random_r(&own, &fd), fd != number))
CASE(alternate_stack_of_signal, , siginterrupt(SIGUSR1, 1), siginterrupt(SIGUSR1, 0), restarts(SIGUSR1) == 0)

/* Descriptors that another thread closes or replaces */
CASE(closed_tty, twice(dup(0)), close(fd), dup2(other, fd), (isatty(fd), errno == EBADF))
CASE(closed_file, twice(file("x")), close(fd), dup2(other, fd), fsync(fd) < 0)
CASE(closed_locked, twice(file("x")), close(fd), dup2(other, fd), flock(fd, LOCK_SH) < 0)
CASE(closed_limits, twice(open(".", O_RDONLY)), close(fd), dup2(other, fd), fpathconf(fd, _PC_NAME_MAX) < 0)
CASE(closed_stream, twice(file("x")), close(fd), dup2(other, fd), fdopen(fd, "r") == NULL)
CASE(closed_directory, twice(open(".", O_RDONLY)), close(fd), dup2(other, fd), fchdir(fd) < 0)
CASE(closed_listener, twice(listener()), close(fd), dup2(other, fd), accept(fd, NULL, NULL) < 0 && errno == EBADF)
CASE(closed_polled, twice(dup(0)), close(fd), dup2(other, fd), is_invalid(fd))
CASE(closed_reader, (pipe(ends), signal(SIGPIPE, SIG_IGN)), close(ends[0]), , write(ends[1], "x", 1) < 0)
CASE(printed_to_descriptor, pipe2(ends, O_NONBLOCK), dprintf(ends[1], "a"), read_byte(ends[0]),
     read(ends[0], text, 1) == 1)
CASE(connected, fd = listener(), connect_to(fd), , accept(fd, NULL, NULL) >= 0)
CASE(datagram, (fd = datagrams(), other = datagrams()), send_to(other, fd), recv(fd, text, 1, 0), recv(fd, text, 1, 0) == 1)
CASE(directories_within, fd = open(".", O_RDONLY), mkdir("made", 0700), rmdir("made"),
     (fstat(fd, &status), status.st_nlink > 2))
CASE(replaced_file, (fd = file("x"), close(file("y"))), renameat(AT_FDCWD, "y", AT_FDCWD, "x"), ,
     (fstat(fd, &status), status.st_nlink == 0))
CASE(time_of_mapping, (map_file(), set_time("mapped", 1000)), page[0] = 1, , time_of("mapped") != 1000)
CASE(name_that_ends, close(file("x")), unlink("x"), close(file("x")), pathconf("x", _PC_LINK_MAX) < 0)

/* Rounding, keys, timers, the end of the process */
CASE(rounding, (fegetenv(&rounds), fesetround(FE_DOWNWARD), fegetenv(&rounds), fesetround(FE_TONEAREST)),
     rounds.__control_word ^= 0x400, rounds.__control_word ^= 0x400, (fesetenv(&rounds), fegetround() != FE_DOWNWARD))
CASE(key_deleted, (pthread_key_create(&key, NULL), pthread_setspecific(key, text)), pthread_key_delete(key), ,
     !pthread_getspecific(key))
CASE(key_deleted_before_store, pthread_key_create(&key, NULL), pthread_key_delete(key), ,
     pthread_setspecific(key, text) != 0)
CASE(timer_deleted, timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_NONE}, &timer),
     timer_delete(timer), , timer_gettime(timer, &(struct itimerspec){.it_value = {0}}) < 0)
CASE(detached, , pthread_detach(first), , is_detached())
CASE(processors_in_attributes, , set_processors(0), set_processors(1), processors_of_attributes() == 1)
CASE(environment_string, putenv(variable), variable[0] = 'J', variable[0] = 'H', !getenv("HEDDLE_Y"))
CASE(exit_handlers, , atexit(first_at_exit), , (atexit(second_at_exit), 0))
CASE(errors_counted, , error(0, 0, "a"), error_message_count = 0, error_message_count == 1)
