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


# The name of each command, its help, and whether it moves. Heddle inserts its table here.
COMMANDS = ()


def leave_breakpoints(target):
    """Before lldb continues threads at breakpoints, it steps each over its own alone, and ignores a stop elsewhere."""
    places = set()
    for number in range(target.GetNumBreakpoints()):
        breakpoint = target.GetBreakpointAtIndex(number)
        for place in range(breakpoint.GetNumLocations()):
            places.add(breakpoint.GetLocationAtIndex(place).GetLoadAddress())
    for thread in target.GetProcess().threads:
        frame = thread.GetFrameAtIndex(0)
        here = frame.GetPC()
        if here in places:
            # The server ignores this: the next stop is elsewhere, with other registers.
            while here in places:
                here += 1
            frame.SetPC(here)


def travel(debugger):
    """Makes lldb step; the server executes the pending move instead of the step."""
    process = debugger.GetSelectedTarget().GetProcess()
    stepping = process.GetSelectedThread()
    leave_breakpoints(debugger.GetSelectedTarget())
    # All threads must run: lldb ignores a stop in a suspended thread.
    debugger.HandleCommand("thread step-inst --run-mode all-threads")
    # If the stop is in another thread, lldb would continue the step.
    silent = lldb.SBCommandReturnObject()
    there = lldb.SBExecutionContext(stepping)
    debugger.GetCommandInterpreter().HandleCommand("thread plan discard 1", there, silent)


def command_function(name, moves, doc):
    """Returns the function of one command."""

    def run(debugger, argument, context, result, internal):
        if name in ("history", "origin"):
            argument = place_of(context, argument, name == "origin")
        said = ask(debugger, (name + " " + argument).strip())
        if moves and not said.strip():
            travel(debugger)
        else:
            result.AppendMessage(said.rstrip("\n"))

    run.__doc__ = doc
    return run


def place_of(context, argument, in_registers):
    """The address and the size of an expression, and the number after it; or the task with the expression."""
    words = argument.rsplit(None, 1)
    start = words.pop() if len(words) == 2 and words[1].isdigit() else ""
    text = words[0] if start else argument
    frame = context.GetFrame()
    in_task = "in %d %s" % (context.GetThread().GetThreadID() - 1, text)
    if in_registers and text.startswith("$") and frame.GetFrameID() == 0:
        return in_task
    # The result of an expression is a copy of a variable.
    value = frame.GetValueForVariablePath(text)
    if not value.IsValid() or value.GetError().Fail():
        value = frame.EvaluateExpression(text)
    address = value.GetLoadAddress()
    # For a value in a register, the location is the register's name, and the address means nothing.
    in_memory = (value.GetLocation() or "").startswith("0x")
    if in_memory and address != lldb.LLDB_INVALID_ADDRESS:
        return "0x%x %d %s" % (address, value.GetByteSize(), start)
    return in_task if in_registers and frame.GetFrameID() == 0 else text


class Variables:
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
    for name, doc, moves in COMMANDS:
        function = "sched_" + name.replace("-", "_")
        globals()[function] = command_function(name, moves, doc)
        debugger.HandleCommand(
            'command script add -o -h "%s" -f %s.%s sched %s' % (doc, __name__, function, name)
        )
    if debugger.GetSelectedTarget().IsValid():
        debugger.HandleCommand("target stop-hook add -P %s.Variables" % __name__)
