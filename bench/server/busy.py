"""Busy loops, one on each CPU, as other work of a machine that a server shares.

They have the priority of the program that starts them. They end with the block, and also when that program is killed:
the kernel then kills them (PR_SET_PDEATHSIG).
"""
import contextlib
import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1


def _tied_to(parent, cpu):
    """In the new process: its CPU, and its end with its parent's."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the call
        os._exit(0)
    os.sched_setaffinity(0, {cpu})


@contextlib.contextmanager
def loops(cpus):
    """Yields the processes, one a CPU. Call this from the main thread: with its end the kernel ends the loops."""
    parent = os.getpid()
    started = []
    try:
        for cpu in cpus:
            # -I and -S: the interpreter begins at once, and the environment changes nothing.
            started.append(subprocess.Popen([sys.executable, "-IS", "-c", "while True: pass"], stdin=subprocess.DEVNULL,
                                            preexec_fn=lambda cpu=cpu: _tied_to(parent, cpu)))
        yield started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()
