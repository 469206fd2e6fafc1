# What lldb is taught about a schedule. `heddle gdb --lldb` loads it.
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


GOES = ("pick", "explore", "next", "prev", "goto", "back", "forward", "restart", "reverse")


def sched(debugger, command, context, result, internal):
    """The schedule: when, list, threads, who OBJECT, why [T2], hb, preemptions, output;
pick T2, pick back, explore, save [FILE]; next, prev, goto STEP|start|end|failure, back, forward, checkpoint, restart N;
reverse step, reverse continue."""
    said = ask(debugger, command or "help")
    words = command.split()
    if words and words[0] in GOES and not said.strip():
        # The server goes there instead of executing the instruction.
        debugger.HandleCommand("thread step-inst")
    else:
        result.AppendMessage(said.rstrip("\n"))


def __lldb_init_module(debugger, internal):
    debugger.HandleCommand("command script add -o -f " + __name__ + ".sched sched")
