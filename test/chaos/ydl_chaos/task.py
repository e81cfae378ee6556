"""The program of every task. What it has written to its output it writes into a ledger too, which no
part of ydl knows: afterwards the two are compared. It holds a lock in the name of its rank for as long
as it lives, so that a second one of that rank is seen by the kernel and not by a clock."""

import fcntl
import json
import os
import signal
import sys
import time

LINE = 48  # bytes of every line, so that sizes of files are counts of lines


def line_of(name: str, step: int) -> bytes:
    """Unique in a job: the process is part of it."""
    text = (f"{name} g{os.environ['YDL_GENERATION']} a{os.environ['YDL_ATTEMPT']} "
            f"p{os.getpid()} n{step}")
    return text.ljust(LINE - 1).encode() + b"\n"


def steps_of_stopped(ledger: str, name: str, pid: str) -> int | None:
    """How much a process that stands still has written; None: it does not stand still."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            stopped = file.read().rsplit(")", 1)[1].split()[0] == "T"
        return os.path.getsize(f"{ledger}/lines-{name}-{pid}") if stopped else None
    except OSError:
        return None


def write_double(ledger: str, name: str, how: str) -> None:
    with open(f"{ledger}/double-{name}-{os.getpid()}", "w", encoding="ascii") as file:
        file.write(f"{time.time():.3f}: {os.getpid()} {how}")


def only_one(ledger: str, name: str) -> int:
    """Takes the rank's lock, or writes down that somebody has it. One that stands still, as on a node
    that is cut off, may have it, and must not take another step."""
    fd = os.open(f"{ledger}/rank-{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held = os.pread(fd, 100, 0).decode(errors="replace")
        before = steps_of_stopped(ledger, name, held)
        if before is None:
            write_double(ledger, name, f"beside {held}")
        fcntl.flock(fd, fcntl.LOCK_EX)
        if before is not None and os.path.getsize(f"{ledger}/lines-{name}-{held}") != before:
            write_double(ledger, name, f"beside {held}, which went on")
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}".encode(), 0)
    return fd


def leave_stray(lock: int) -> None:
    """A process that has left its session and its parent; it knows only the job's variables."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(lock)
            for fd in (0, 1, 2):
                os.close(fd)
            time.sleep(600)
        os._exit(0)
    os.wait()


def write_line(line: bytes, pace: float) -> None:
    """Until all of it is written: a full disk is waited for."""
    while True:
        try:
            done = os.write(1, line)
        except OSError:
            time.sleep(pace)
            continue
        if done == len(line):
            return
        line = b"\n" + line  # what came before is no line of ours


def leave_result() -> None:
    """A disk that is full for a moment is waited for; a directory that is gone is not."""
    while True:
        try:
            with open(f"{os.environ['YDL_OUT']}/{os.environ['YDL_INDEX']}", "w",
                      encoding="ascii") as file:
                file.write("done\n")
            return
        except FileNotFoundError:
            raise
        except OSError:
            time.sleep(0.1)


def main() -> None:
    plan = json.loads(sys.argv[1])
    name, pace = f"{os.environ['YDL_ROLE']}:{os.environ['YDL_INDEX']}", plan["pace_ms"] / 1000
    failure = plan["failure"] or {}
    if plan["stubborn"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lock = only_one(plan["ledger"], name)
    if plan["strays"]:
        leave_stray(lock)
    mine = os.open(f"{plan['ledger']}/lines-{name}-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    tries = len([n for n in os.listdir(plan["ledger"]) if n.startswith(f"lines-{name}-")])
    for step in range(plan["steps"]):
        if failure.get("index") == int(os.environ["YDL_INDEX"]) and step == failure["step"] and \
                tries <= failure["times"]:
            if failure["how"] == "exit":
                os._exit(failure["number"])
            os.kill(os.getpid(), failure["number"])
        line = line_of(name, step)
        write_line(line, pace)
        os.write(mine, line)
        time.sleep(pace)
    if plan["results"]:
        leave_result()


if __name__ == "__main__":
    main()
