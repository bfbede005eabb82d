"""Runs a program on a terminal of its own until its screen has shown all the given words, then ends it.

Arguments: seconds to wait at most, a JSON list of words, the program and its arguments.
Prints the words that never came; succeeds when there are none.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ROWS, COLUMNS = 60, 200
# Moves of the cursor stand for gaps, everything else that is not text for nothing.
MOVE = re.compile(rb"\x1b\[[0-9;]*[HGfd]")
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|[\x0e\x0f]")


def missing(screen, words):
    text = CONTROL.sub(b"", MOVE.sub(b" ", screen)).decode(errors="replace")
    return [word for word in words if word not in text]


def main():
    patience, words, *command = sys.argv[1:]
    words = json.loads(words)
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.kill(child, signal.SIGWINCH)
    deadline = time.monotonic() + float(patience)
    screen = b""
    while missing(screen, words) and time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            screen += os.read(terminal, 65536)
        except OSError:
            break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    absent = missing(screen, words)
    if absent:
        print("never shown:", absent, screen[-4000:])
    sys.exit(1 if absent else 0)


main()
