#!/usr/bin/env python3
"""Finds a bug in a program with `heddle serve`, explains it, and saves the schedule.

    ./heddle_client.py PROGRAM [ARGUMENT ...]

Needs only Python's standard library. The environment variable HEDDLE names the command to start if it
is not `heddle`. The class Heddle is the whole client: one JSON value on a line in each direction.
"""

import json
import os
import subprocess
import sys


class Refused(Exception):
    """Heddle's answer to a request that it could not carry out."""


class Heddle:
    """A running server. Its methods are those of docs/serve.md."""

    def __init__(self, command="heddle", on_progress=None):
        self.server = subprocess.Popen(
            [command, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.on_progress = on_progress
        self.last = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The server ends when its input does.
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        self.server.stdin.write(line.encode())
        self.server.stdin.flush()

    def call(self, method, **params):
        """Calls a method and returns its result."""
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while True:
            line = self.server.stdout.readline()
            if not line:
                raise Refused("heddle ended")
            answer = json.loads(line)
            if answer.get("method") == "progress":
                if self.on_progress:
                    self.on_progress(answer["params"]["text"])
            elif answer.get("id") == self.last:
                if "error" in answer:
                    raise Refused(answer["error"]["message"])
                return answer["result"]

    def all(self, method, name, **params):
        """The elements of a list, a page at a time."""
        start = 0
        while True:
            page = self.call(method, **params, **{"from": start, "limit": 100})
            yield from page[name]
            start += len(page[name])
            if not page[name] or start >= page["total"]:
                return


def main(command):
    with Heddle(os.environ.get("HEDDLE", "heddle")) as heddle:
        heddle.call("open_program", command=command)
        found = heddle.call("search")
        if not found["found"]:
            print("no failure:", found["ended"])
            return 0
        print(f"{found['found'][0]['kind']}: {found['found'][0]['message']}")
        heddle.call("shrink")
        verdict = heddle.call("explain")["verdict"]
        if verdict:
            print("why:", verdict["text"])
            if verdict["step"]:
                position = heddle.call("goto", step=verdict["step"])
                print(f"decided at step {position['step']} of {position['steps']}:", end=" ")
                step = position["next"]
                print(step["task"], step["operation"], step["object"], step["site"])
        heddle.call("goto", step=1 << 40)
        for task in heddle.all("tasks", "tasks"):
            print(task["task"], "may run" if task["enabled"] else task["why"])
        print("saved:", heddle.call("save")["path"])
        return 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as why:
        sys.exit(f"heddle: {why}")
