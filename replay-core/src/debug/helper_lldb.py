# Adds the `sched` commands to lldb. `heddle gdb --lldb` loads it; `heddle gdbinit --lldb` prints it for other uses.
import lldb


def ask(debugger, command):
    """Sends a command to the server and returns the answer."""
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


# The commands with their help: QUERIES only print something, MOVES change the position.
QUERIES = {
    "when": "The current position in the schedule.",
    "list": "The schedule around the current step, or from step A to step B: sched list [A [B]].",
    "threads": "Every task with its next operation.",
    "preemptions": "The steps that preempt an enabled task.",
    "output": "The program's output so far.",
    "who": "Which task holds a lock, and which tasks wait for it: sched who OBJECT.",
    "why": "Why a task is blocked: sched why [T2].",
    "hb": "The steps before, concurrent with, and after the next step.",
    "schedule": "The tasks of all steps.",
    "enabled": "The enabled tasks.",
    "save": "Save the current schedule as a trace: sched save [FILE].",
    "stop-on": "Make `continue` stop at each preempt, switch, or step; off: at none.",
    "checkpoint": "Save this position: `sched restart N` goes there.",
    "checkpoints": "List the saved positions.",
    "delete": "Delete a saved position: sched delete N.",
}
MOVES = {
    "next": "Go to the next preemption.",
    "prev": "Go to the previous preemption.",
    "goto": "Go to a step, or to start, end or failure: sched goto STEP.",
    "pick": "Let another task run next: sched pick T2; `sched pick back` returns.",
    "explore": "Search from here and go to the first failure found.",
    "keep": "Make the last change of memory part of another schedule, from here on.",
    "back": "Return to the position before the last of these commands.",
    "forward": "Return to the position before the last `sched back`.",
    "restart": "Go to a saved position: sched restart N.",
    "reverse": "Go back by an instruction, or to the last event: sched reverse step|continue.",
}


def travel(debugger):
    """Makes lldb step; the server executes the pending move instead of the step."""
    process = debugger.GetSelectedTarget().GetProcess()
    stepping = process.GetSelectedThread()
    # All threads must run: lldb ignores a stop in a suspended thread.
    debugger.HandleCommand("thread step-inst --run-mode all-threads")
    # If the stop is in another thread, lldb would continue the step.
    silent = lldb.SBCommandReturnObject()
    there = lldb.SBExecutionContext(stepping)
    debugger.GetCommandInterpreter().HandleCommand("thread plan discard 1", there, silent)


def command_function(name, goes, doc):
    """Returns the function of one command."""

    def run(debugger, argument, context, result, internal):
        said = ask(debugger, (name + " " + argument).strip())
        if goes and not said.strip():
            travel(debugger)
        else:
            result.AppendMessage(said.rstrip("\n"))

    run.__doc__ = doc
    return run


class Tell:
    """Sets lldb.sched_pos, lldb.sched_thread and lldb.sched_enabled at each stop, for scripts."""

    def __init__(self, target, extra, internal):
        self.debugger = target.GetDebugger()

    def handle_stop(self, context, stream):
        lldb.sched_pos = ask(self.debugger, "position").strip()
        task = ask(self.debugger, "task").strip()
        lldb.sched_thread = int(task) if task.isdigit() else None
        lldb.sched_enabled = ask(self.debugger, "enabled").strip()
        return True


def __lldb_init_module(debugger, internal):
    doc = "Commands for the schedule: position, next steps, blocked threads, other schedules."
    debugger.HandleCommand('command container add -o -h "%s" sched' % doc)
    for names, goes in ((QUERIES, False), (MOVES, True)):
        for name, doc in names.items():
            function = "sched_" + name.replace("-", "_")
            globals()[function] = command_function(name, goes, doc)
            debugger.HandleCommand(
                'command script add -o -h "%s" -f %s.%s sched %s' % (doc, __name__, function, name)
            )
    if debugger.GetSelectedTarget().IsValid():
        debugger.HandleCommand("target stop-hook add -P %s.Tell" % __name__)
