"""What other platforms lack is not needed: every module is imported without it, and the lab's folder is made."""

import re
import subprocess
import sys

import pytest

from .clean_environment import ROOT

ABSENT_ON_WINDOWS = """
import importlib, os, pkgutil, signal, sys
import asyncio, jax, numba, optax, scipy.special, starlette.applications, subprocess, uvicorn, websockets

for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for module, names in {
    os: ("fork", "geteuid", "getuid", "killpg", "nice", "sched_getaffinity", "setsid", "sysconf", "O_NOFOLLOW"),
    signal: ("SIGALRM", "SIGCONT", "SIGHUP", "SIGKILL", "SIGSTOP", "pthread_kill", "setitimer"),
}.items():
    for name in names:
        delattr(module, name)
"""

IMPORT_ALL = """
import ftheta
ours = [found.name for found in pkgutil.walk_packages(ftheta.__path__, "ftheta.")]
for name in ours:
    if not name.endswith("__main__"):
        importlib.import_module(name)
from ftheta.lab.scratch import Scratch, sweep
from ftheta.processes.resources import available_memory, cores, limit_data, limit_memory
sweep()
scratch = Scratch()
assert scratch.room("uploads").is_dir()
scratch.close()
assert not scratch.folder.exists() and cores() >= 1
limit_data(1 << 40)
with limit_memory(1 << 30):
    pass
result = ftheta.check("hat-function")
print(len(ours), result.verdict)
"""


def test_what_windows_lacks_is_imported_where_its_absence_is_caught():
    lacking = re.compile(r"^(import|from) (fcntl|grp|pwd|resource|termios|tty)\b", re.MULTILINE)
    assert not [
        path
        for path in (ROOT / "ftheta").rglob("*.py")
        if lacking.search(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.nightly
def test_every_module_is_imported_where_windows_has_no_such_names():
    done = subprocess.run(
        [sys.executable, "-c", ABSENT_ON_WINDOWS + IMPORT_ALL], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    count, verdict = done.stdout.split()
    assert int(count) > 800 and verdict == "proved"
