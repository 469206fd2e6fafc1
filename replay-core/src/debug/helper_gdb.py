# Adds the `sched` commands to gdb. `heddle gdb` loads it; `heddle gdbinit` prints it for other uses.
import gdb

# The name of each command, its help, and whether it moves. Heddle inserts its table here.
COMMANDS = ()
# Commands that have a separate class below, and those that gdb has itself.
OTHERWISE = ("history", "origin", "stop-on", "checkpoint", "checkpoints", "delete", "restart", "reverse")


def ask(command):
    """Sends a command to the server and returns the answer."""
    packet = "maintenance packet qHeddle:" + command.encode(errors="replace").hex()
    try:
        text = gdb.execute(packet, False, True)
    except gdb.error as error:
        raise gdb.GdbError("%s: `heddle gdb TRACE` starts a program on a schedule" % error)
    for line in text.splitlines():
        if line.startswith("received:"):
            digits = line.split('"')[1]
            try:
                return bytes.fromhex(digits).decode(errors="replace")
            except ValueError:
                break
    raise gdb.GdbError("no program on a schedule is connected: `heddle gdb TRACE` starts one")


def travel(command):
    """Executes a command that moves. gdb sees no stop, so its caches are flushed here."""
    said, _, thread = ask("now " + command).rpartition("\n")
    while thread == "wait":
        # A search runs: gdb notices Ctrl-C between two questions.
        try:
            said, _, thread = ask("now wait").rpartition("\n")
        except KeyboardInterrupt:
            ask("now stop")
    gdb.write(said)
    if thread == "0":
        return
    gdb.execute("maintenance flush register-cache", False, True)
    gdb.execute("info threads", False, True)
    renew_watched_values()
    for found in gdb.selected_inferior().threads():
        if found.ptid[1] == int(thread):
            found.switch()
    set_variables()
    gdb.execute("frame")


def renew_watched_values():
    """Makes gdb read the watched values here: it compares the next ones with those that it has seen last."""
    for breakpoint in gdb.breakpoints():
        kinds = (gdb.BP_WATCHPOINT, gdb.BP_HARDWARE_WATCHPOINT, gdb.BP_READ_WATCHPOINT, gdb.BP_ACCESS_WATCHPOINT)
        if breakpoint.type in kinds and breakpoint.enabled:
            try:
                breakpoint.enabled = True
            except gdb.error:
                # Its expression has no value here.
                pass


class Command(gdb.Command):
    """A command that passes gdb's errors on as one line, and not as exceptions of Python."""

    def invoke(self, argument, from_tty):
        try:
            self.run(argument)
        except gdb.error as error:
            raise gdb.GdbError(str(error))


class Sched(Command):
    """Commands for the schedule: position, next steps, blocked threads, other schedules."""

    def __init__(self):
        super().__init__("sched", gdb.COMMAND_RUNNING, prefix=True)

    def run(self, argument):
        gdb.write(ask(argument or "help"))


class StopOn(Command):
    """Make `continue` stop at each preempt, switch, or step; off: at none."""

    WHAT = ("preempt", "switch", "step", "off")

    def __init__(self):
        super().__init__("sched stop-on", gdb.COMMAND_RUNNING)

    def run(self, argument):
        gdb.write(ask("stop-on " + argument))

    def complete(self, text, word):
        return [what for what in self.WHAT if what.startswith(text)]


class OwnFrames:
    """Hides the frames of Heddle's runtime in backtraces."""

    name = "heddle"
    priority = 100
    enabled = True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        def is_own(frame):
            return "heddle-runtime" in (gdb.solib_name(frame.inferior_frame().pc()) or "")

        return (frame for frame in frames if not is_own(frame))


class Query(Command):
    def __init__(self, name, doc):
        self.__doc__ = doc
        self.name = name
        super().__init__("sched " + name, gdb.COMMAND_STATUS)

    def run(self, argument):
        gdb.write(ask((self.name + " " + argument).strip()))

    def complete(self, text, word):
        if self.name == "who":
            names = ask("objects").split("\n")
            return [name for name in names if name.startswith(text) and name]
        if self.name == "why":
            tasks = ["T%d" % (thread.ptid[1] - 1) for thread in gdb.selected_inferior().threads()]
            return [task for task in tasks if task.startswith(text)]
        return []


def in_memory(expression):
    """The value of an expression that has an address."""
    value = gdb.parse_and_eval(expression)
    if value.address is None:
        raise gdb.GdbError("it is not in memory: " + expression)
    return value


class History(Command):
    """Every write to the memory of an expression in the execution: `sched history EXPRESSION`.
The expression is evaluated here, once. A number after it lists the writes from that one on."""

    def __init__(self):
        super().__init__("sched history", gdb.COMMAND_STATUS, gdb.COMPLETE_EXPRESSION)

    def run(self, argument):
        words = argument.rsplit(None, 1)
        start = words.pop() if len(words) == 2 and words[1].isdigit() else ""
        value = in_memory(words[0] if start else argument)
        gdb.write("%s is at 0x%x\n" % (words[0] if start else argument, int(value.address)))
        gdb.write(ask("history 0x%x %d %s" % (int(value.address), value.type.sizeof, start)))


class Origin(Command):
    """Where the value of an expression, or of a register, came from, through copies: `sched origin EXPRESSION`."""

    def __init__(self):
        super().__init__("sched origin", gdb.COMMAND_STATUS, gdb.COMPLETE_EXPRESSION)

    def run(self, argument):
        value = gdb.parse_and_eval(argument)
        if value.address is not None:
            gdb.write("%s is %s, at 0x%x\n" % (argument, value, int(value.address)))
            gdb.write(ask("origin 0x%x %d" % (int(value.address), value.type.sizeof)))
        elif gdb.selected_frame() == gdb.newest_frame():
            task = gdb.selected_thread().ptid[1] - 1
            gdb.write(ask("origin in %d %s" % (task, argument)))
        else:
            raise gdb.GdbError("it is in a register of a calling function: go to a step within that function")


class Move(Command):
    def __init__(self, name, doc):
        self.__doc__ = doc
        self.name = name
        super().__init__("sched " + name, gdb.COMMAND_RUNNING)

    def run(self, argument):
        travel((self.name + " " + argument).strip())

    def complete(self, text, word):
        if self.name == "pick":
            able = ["T" + task for task in ask("enabled").split()] + ["back"]
            return [task for task in able if task.startswith(text)]
        if self.name != "goto":
            return []
        return [place for place in ("start", "end", "failure") if place.startswith(text)]


class Checkpoint(Command):
    """Save this position: `restart N` goes there."""

    def __init__(self):
        super().__init__("checkpoint", gdb.COMMAND_OBSCURE)

    def run(self, argument):
        gdb.write(ask("checkpoint"))


class InfoCheckpoints(Command):
    """List the saved positions."""

    def __init__(self):
        super().__init__("info checkpoints", gdb.COMMAND_STATUS)

    def run(self, argument):
        gdb.write(ask("checkpoints"))


class DeleteCheckpoint(Command):
    """Delete a saved position."""

    def __init__(self):
        super().__init__("delete checkpoint", gdb.COMMAND_OBSCURE)

    def run(self, argument):
        gdb.write(ask("delete " + argument))


class Restart(Command):
    """Go to a saved position."""

    def __init__(self):
        super().__init__("restart", gdb.COMMAND_OBSCURE)

    def run(self, argument):
        travel("restart " + argument)


class When(Command):
    """The current position in the schedule."""

    def __init__(self):
        super().__init__("when", gdb.COMMAND_STATUS)

    def run(self, argument):
        gdb.write(ask("when"))


class Back(Command):
    """Return to the position before the last `sched goto`, `restart` or similar command."""

    def __init__(self):
        super().__init__("back", gdb.COMMAND_RUNNING)

    def run(self, argument):
        travel("back")


class Forward(Command):
    """Return to the position before the last `back`."""

    def __init__(self):
        super().__init__("forward", gdb.COMMAND_RUNNING)

    def run(self, argument):
        travel("forward")


Sched()
for name, doc, moves in COMMANDS:
    if name not in OTHERWISE:
        (Move if moves else Query)(name, doc)
for command in (OwnFrames, History, Origin, StopOn, Checkpoint, InfoCheckpoints, DeleteCheckpoint, Restart, When, Back, Forward):
    command()


def before_reverse(steps_into):
    """gdb is about to go back by a line. If the instruction before belongs to another line that is a
loop, one step goes back through all of it."""
    try:
        pc = gdb.selected_frame().pc()
        here, line = gdb.find_pc_line(pc), gdb.find_pc_line(pc - 1)
        if not line.symtab or not line.last or here.pc != pc or line.line == here.line:
            return
        if steps_into:
            count = 0
            for found in gdb.selected_frame().architecture().disassemble(line.pc, line.last):
                count += "call" in found["asm"]
            if count:
                return
        ask("back-through %x %x" % (line.pc, line.last + 1))
    except (gdb.error, gdb.GdbError):
        # There is no program, or it has no such line.
        pass


for name, steps_into in (("reverse-next", False), ("reverse-step", True)):
    gdb.execute("define hook-%s\npython before_reverse(%s)\nend" % (name, steps_into))


def set_variables(event=None):
    """Sets $_sched_pos, $_sched_thread and $_sched_enabled at each stop."""
    try:
        if event is not None:
            gdb.write(ask("shown"))
        gdb.set_convenience_variable("_sched_pos", ask("position").strip())
        gdb.set_convenience_variable("_sched_thread", int(ask("task")))
        gdb.set_convenience_variable("_sched_enabled", ask("enabled").strip())
    except (gdb.error, gdb.GdbError, ValueError):
        # Another program is debugged.
        pass


gdb.events.stop.connect(set_variables)
