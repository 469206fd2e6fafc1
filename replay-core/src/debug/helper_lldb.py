# What lldb is taught about a schedule. `heddle gdb --lldb` loads it; `heddle gdbinit --lldb` prints it for others.
import lldb


def ask(debugger, command):
    """One command to the server, one answer."""
    result = lldb.SBCommandReturnObject()
    packet = "process plugin packet send qHeddle:" + command.encode().hex()
    debugger.GetCommandInterpreter().HandleCommand(packet, result)
    for line in (result.GetOutput() or "").splitlines():
        line = line.strip()
        if line.startswith("response:"):
            digits = line.split(":", 1)[1].strip()
            try:
                return bytes.fromhex(digits).decode(errors="replace")
            except ValueError:
                break
    return "no program on a schedule is connected: `heddle gdb --lldb TRACE` starts one\n"


# Each with what it does. The first tell something, the others go somewhere.
TELLS = {
    "when": "Where in the schedule this is.",
    "list": "The schedule around here, or from step A to step B: sched list [A [B]].",
    "threads": "Every task and what it is about to do.",
    "preemptions": "The steps at which a task that could go on was switched away from.",
    "output": "What the program printed so far.",
    "who": "Who has a lock, and who waits for it: sched who OBJECT.",
    "why": "Why a task may not move: sched why [T2].",
    "hb": "What is before, concurrent with, and after the next step.",
    "schedule": "The tasks of all steps.",
    "enabled": "The tasks that could move.",
    "save": "Write the schedule as it now is to a trace: sched save [FILE].",
    "stop-on": "Have `continue` stop at each preempt, switch, or step; off: at none.",
    "checkpoint": "Keep this position: `sched restart N` goes there.",
    "checkpoints": "The positions that were kept.",
    "delete": "Forget a position that was kept: sched delete N.",
}
GOES = {
    "next": "Go to the next preemption.",
    "prev": "Go to the previous preemption.",
    "goto": "Go to a step, or to start, end or failure: sched goto STEP.",
    "pick": "Let a task move next instead of the one that did: sched pick T2; `sched pick back`.",
    "explore": "Have the search go on from here, and go to the first failure it finds.",
    "keep": "Make the change of memory that was just made part of another schedule, from here on.",
    "back": "To where one was before the last of these.",
    "forward": "To where one was before the last `sched back`.",
    "restart": "Go to a position that was kept: sched restart N.",
    "reverse": "Back by an instruction, or to what came last: sched reverse step|continue.",
}


def travel(debugger):
    """Has lldb step: the server goes where it was told to, instead."""
    process = debugger.GetSelectedTarget().GetProcess()
    stepping = process.GetSelectedThread()
    # Of a stop in a thread that it holds back lldb takes no notice.
    debugger.HandleCommand("thread step-inst --run-mode all-threads")
    # Where it stopped in another thread, it would go on with the step.
    silent = lldb.SBCommandReturnObject()
    there = lldb.SBExecutionContext(stepping)
    debugger.GetCommandInterpreter().HandleCommand("thread plan discard 1", there, silent)


def taught(name, goes, doc):
    """The function of one command."""

    def run(debugger, argument, context, result, internal):
        said = ask(debugger, (name + " " + argument).strip())
        if goes and not said.strip():
            travel(debugger)
        else:
            result.AppendMessage(said.rstrip("\n"))

    run.__doc__ = doc
    return run


class Tell:
    """lldb.sched_pos, lldb.sched_thread and lldb.sched_enabled at each stop, for scripts."""

    def __init__(self, target, extra, internal):
        self.debugger = target.GetDebugger()

    def handle_stop(self, context, stream):
        lldb.sched_pos = ask(self.debugger, "position").strip()
        task = ask(self.debugger, "task").strip()
        lldb.sched_thread = int(task) if task.isdigit() else None
        lldb.sched_enabled = ask(self.debugger, "enabled").strip()
        return True


def __lldb_init_module(debugger, internal):
    doc = "The schedule: where this is, what moves next, why a thread may not."
    debugger.HandleCommand('command container add -o -h "%s" sched' % doc)
    for names, goes in ((TELLS, False), (GOES, True)):
        for name, doc in names.items():
            function = "sched_" + name.replace("-", "_")
            globals()[function] = taught(name, goes, doc)
            debugger.HandleCommand(
                'command script add -o -h "%s" -f %s.%s sched %s' % (doc, __name__, function, name)
            )
    if debugger.GetSelectedTarget().IsValid():
        debugger.HandleCommand("target stop-hook add -P %s.Tell" % __name__)
