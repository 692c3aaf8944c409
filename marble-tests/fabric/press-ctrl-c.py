"""Runs a command in a terminal of its own and presses Ctrl-C once.

Usage: press-ctrl-c.py <text> <command...>. The key is pressed when the text has been printed. Prints
what the terminal showed; the exit code is the command's, or 128 and the signal that ended it.
"""
import os
import pty
import sys

awaited = sys.argv[1].encode()
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b""
pressed = False
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        # Linux reports the end of the last process in the terminal so.
        break
    if not data:
        break
    shown += data
    if not pressed and awaited in shown:
        pressed = True
        os.write(terminal, b"\x03")
sys.stdout.write(shown.decode(errors="replace").replace("\r\n", "\n"))
sys.stdout.flush()
_, status = os.waitpid(child, 0)
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
