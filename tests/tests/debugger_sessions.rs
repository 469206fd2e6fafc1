//! gdb sessions, each with the expected output.

use tests::debugging::On::{Failing, Target, Text};

/// A thread that signals itself, is signalled by another thread, and aborts.
const SIGNALS: &str = "\
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static volatile int seen;
static void on(int number)
{
    seen += number;
}
static void *run(void *x)
{
    raise(SIGUSR2);
    return x;
}
int main(void)
{
    signal(SIGUSR1, on);
    signal(SIGUSR2, on);
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_kill(pthread_self(), SIGUSR1);
    pthread_join(thread, 0);
    abort();
}
";

/// The kernel writes to a variable.
const READS: &str = "\
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int word;
static void *run(void *x)
{
    int file = open(\"/dev/zero\", O_RDONLY);
    word = 7;
    if (read(file, &word, 4) != 4)
        return x;
    word += 1;
    return x;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return 0;
}
";

/// The kernel writes to a variable after the step has called the runtime.
const READS_LATER: &str = "\
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int word = 7;
static long flags;
static void *run(void *x)
{
    int file = open(\"/dev/zero\", O_RDONLY);
    pthread_mutex_lock(&lock);
    x = read(file, &word, 4) == 4 ? x : 0;
    __asm__ volatile(\"pushf; pop %0\" : \"=r\"(flags));
    pthread_mutex_unlock(&lock);
    return x;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return 0;
}
";

/// One line that is executed many times.
const LONG_LINE: &str = "\
#include <pthread.h>
static volatile unsigned long sum;
static void *run(void *x)
{
    for (long i = 0; i < 3000000; i++) sum += i;
    sum += 1;
    return x;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return 0;
}
";

/// A loop with two exit conditions whose first instructions are short.
const TWO_WAYS: &str = "\
#include <pthread.h>
static volatile long total;
__attribute__((noinline)) static void come_by(long i)
{
    total += i;
}
static void *run(void *often)
{
    long n = (long)often;
    long i;
    for (i = 0; n < 0 || i < n; i++)
        come_by(i);
    if (n > 0)
        total += 1;
    return 0;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, (void *)20000l);
    pthread_join(thread, 0);
    return 0;
}
";

/// A library's constructor has run before the schedule begins.
const CONSTRUCTED: &str = "\
static int made;
__attribute__((constructor)) static void make(void)
{
    made = 1;
}
int main(void)
{
    return made - 1;
}
";

tests::sessions! {
    signals_that_the_program_sends_itself, Text(SIGNALS, &[]), "
        (gdb) catch signal SIGUSR1
            Catchpoint 1 (signal SIGUSR1)
        (gdb) continue
            \"main\" hit Catchpoint 1 (signal SIGUSR1)
            pthread_kill(pthread_self(), SIGUSR1);
        (gdb) print $_siginfo.si_signo
            = 10
        (gdb) when
            after: T0 main create T1
        (gdb) tbreak on
        (gdb) continue
            hit Temporary breakpoint 2, on (number=10)
        (gdb) handle SIGUSR2 nostop noprint pass
        (gdb) delete
        (gdb) tbreak on
        (gdb) continue
            \"run\" hit Temporary breakpoint 3, on (number=12)
        (gdb) continue
            received signal SIGABRT, Aborted.
            abort();
        (gdb) print seen
            = 22
        (gdb) reverse-stepi
        (gdb) stepi
            received signal SIGABRT, Aborted.
        (gdb) print seen
            = 22
        (gdb) continue
            No more reverse-execution history
        (gdb) continue
            terminated with signal SIGABRT
    ";

    watched_memory_that_the_kernel_writes, Text(READS, &[]), "
        (gdb) watch word
        (gdb) continue
            New value = 7
        (gdb) continue
            Old value = 7
            New value = 0
        (gdb) continue
            New value = 1
        (gdb) continue
            No more reverse-execution history
        (gdb) reverse-continue
            Old value = 1
            New value = 0
        (gdb) reverse-continue
            Old value = 0
            New value = 7
        (gdb) reverse-continue
            Old value = 7
            New value = 0
        (gdb) reverse-continue
            No more reverse-execution history
            main () at
        ! [sched] the schedule begins at main
    ";

    what_the_kernel_wrote_is_gone_back_before_wherever_the_step_began, Text(READS_LATER, &[]), "
        (gdb) watch word
        (gdb) continue
            Old value = 7
            New value = 0
        (gdb) delete
        (gdb) reverse-stepi
        (gdb) x/i $pc
            <read@plt
        (gdb) print word
            = 7
    ";

    /// The trap flag of the processor, set for single-stepping, is not the program's.
    flags_that_are_stored_are_the_programs_own, Text(READS_LATER, &[]), "
        (gdb) break 12
        (gdb) continue
        (gdb) next
        (gdb) print flags != 0
            = 1
        (gdb) print flags & 0x100
            = 0
    ";

    what_stopped_at_a_place_before_does_not_hide_a_breakpoint_there, Failing("debugged", "main"), "
        (gdb) watch counter
        (gdb) continue
            New value = 1
        (gdb) delete
        (gdb) print $here = $pc
        (gdb) tbreak 18
        (gdb) continue
        (gdb) break *$here
        (gdb) reverse-continue
            hit Breakpoint 3
        (gdb) print counter
            = 1
    ";

    a_line_that_is_executed_millions_of_times_is_one_step, Text(LONG_LINE, &[]), "
        (gdb) break run
        (gdb) continue
            hit Breakpoint 1, run
        (gdb) next
            sum += 1;
        (gdb) print sum
            = 4499998500000
        (gdb) reverse-stepi
        (gdb) stepi
            sum += 1;
        (gdb) delete
        (gdb) break 5 if i == 2999999
        (gdb) reverse-continue
            No more reverse-execution history
        (gdb) watch sum if sum == 10
        (gdb) continue
            New value = 10
        (gdb) print i
            = 4
    ";

    /// Several instructions are counted as one, and the position is in the middle of them.
    a_loop_that_ends_in_two_ways_is_gone_back_in, Text(TWO_WAYS, &[]), "
        (gdb) break program.c:13
        (gdb) continue
            if (n > 0)
        (gdb) print total
            = 199990000
        (gdb) reverse-stepi
        (gdb) print total
            = 199990000
        (gdb) print i
            = 20000
        (gdb) reverse-step
        (gdb) stepi
        (gdb) reverse-continue
            No more reverse-execution history
        (gdb) break come_by if i < 0
        (gdb) break come_by if i == 7000
        (gdb) continue
            come_by (i=7000)
        (gdb) reverse-finish
            come_by(i);
        (gdb) print i
            = 7000
        (gdb) print total
            = 24496500
        (gdb) continue
        (gdb) when
        (gdb) reverse-stepi
        (gdb) print total
            = 24496500
    ";

    names_and_files_mean_the_programs_own, Target("debugged", &[]), "
        (gdb) break early
            ~ locations
        (gdb) break lib.rs:10
            ~ Breakpoint
        (gdb) info functions ^heddle_
            ~ heddle_fiber
        (gdb) break bump
            Breakpoint 1 at *: file debugged.c, line 12.
        (gdb) rbreak ^work
            worker
        ! Function \"early\" not defined.
    ";

    what_ran_before_main_is_said_to_be_no_part, Text(CONSTRUCTED, &[]), "
        (gdb) break make
        (gdb) print made
            = 1
        (gdb) reverse-stepi
            No more reverse-execution history
        ! code that ran before (the loader, constructors) is not part of it
    ";

    all_that_there_is_of_a_process, Target("debugged", &[]), "
        (gdb) tbreak bump
        (gdb) continue
        (gdb) info auxv
            AT_PHDR
        (gdb) info proc mappings
            debugged
        (gdb) info sharedlibrary
            libc.so.6
        (gdb) print/x $fs_base == (unsigned long)pthread_self()
        (gdb) print $orig_rax
            = -1
        (gdb) print $xmm0
            v4_float
        (gdb) x/2i $pc
            =>
            <bump+
        (gdb) dump memory /dev/null &counter (char *)&counter + 4
        (gdb) hbreak debugged.c:13
            Hardware assisted breakpoint 2
        (gdb) continue
            Breakpoint 2, bump
        (gdb) break *0x10
        (gdb) continue
            ~ Breakpoint 3, 
        (gdb) delete
        (gdb) rwatch counter
            Hardware read watchpoint
        (gdb) continue
            Hardware read watchpoint 4: counter
            Value = 
        (gdb) delete
        (gdb) awatch counter
        (gdb) continue
            Hardware access (read/write) watchpoint 5: counter
        (gdb) delete
        (gdb) advance debugged.c:27
            worker (arg=*) at debugged.c:27
        (gdb) until
            return NULL;
        (gdb) tbreak bump
        (gdb) ignore 6 1
        (gdb) continue
            hit Temporary breakpoint 6
        ! Cannot access memory at address 0x10
    ";

    the_schedules_commands_complete_and_explain_themselves, Failing("debugged", "10"), "
        (gdb) complete sched g
            sched goto
        (gdb) complete sched goto s
            sched goto start
        (gdb) complete sched who l
            sched who lock
        (gdb) complete sched why T1
            sched why T1
        (gdb) complete sched pick b
            sched pick back
        (gdb) help sched why
            why a task is blocked.
        (gdb) sched
            goto POSITION
        (gdb) monitor when
        ! step 10 of 32
        (gdb) print $_sched_pos
            = \"10\"
        (gdb) sched who
            lock is held by T
        (gdb) sched goto 999
            the schedule has 32 steps
        (gdb) sched goto nowhere
            nowhere is not a position
        (gdb) sched who nothing
            no object is called nothing; there are: 
        (gdb) sched why T99
            T99 does not exist
        (gdb) sched nonsense
            no such command: nonsense
        (gdb) sched pick T77
            T77 is not enabled here
        (gdb) print $_sched_pos
            = \"10\"
    ";

    commands_for_other_schedules_work_in_any_order, Failing("abba", "failure"), "
        (gdb) sched pick back
            this is the recorded schedule
        (gdb) sched pick T2
            the execution is over here
        (gdb) sched explore
            the execution is over here
        (gdb) sched keep
            there is no change to keep
        (gdb) sched save kept.heddle
            saved as kept.heddle
        (gdb) sched goto 1
        (gdb) sched pick T0
            T0 already runs next
        (gdb) sched pick T1
            T1 is not enabled here
        (gdb) sched goto failure
        (gdb) sched prev
        (gdb) sched pick T0
            T0 is not enabled here: it is blocked: join
        (gdb) sched pick
            wrong arguments: pick
            pick TASK
            ~ goto POSITION
        (gdb) restart
            restart N
        (gdb) sched nonsense
            no such command: nonsense
            goto POSITION
    ";

    a_printed_position_can_be_returned_to, Failing("debugged", "main"), "
        (gdb) watch counter
        (gdb) continue
        (gdb) continue
            New value = 2
        (gdb) delete
        (gdb) next
        (gdb) python place = str(gdb.parse_and_eval('$_sched_pos')).strip(chr(34))
        (gdb) print $rip
        (gdb) sched goto end
        (gdb) python gdb.execute('sched goto ' + place)
            worker
        (gdb) print counter
            = 2
        (gdb) print $rip == $1
            = 1
        (gdb) sched goto 3.+999999
        (gdb) print $_sched_pos
            ~ 999999
        (gdb) sched goto 3.c0ffee*2
        (gdb) sched goto 3.wat
            3.wat is not a position
    ";

    /// The stack is intact: nothing has been unwound.
    the_session_begins_where_a_panic_is_raised, Failing("panic_main", "failure"), "
        (gdb) backtrace
            panic_main::main
        (gdb) continue
            No more reverse-execution history
        (gdb) continue
            exited with code 0145
    ";

    /// Regression test: the second interrupt ended the server and thereby the session.
    interrupts_of_the_terminal_are_the_debuggers_alone, Target("debugged", &[]), "
        (gdb) python import os, signal; os.kill(os.getppid(), signal.SIGINT)
        (gdb) python import os, signal; os.kill(os.getppid(), signal.SIGINT)
        (gdb) next
        (gdb) info threads
            Thread 1.1
    ";
}
