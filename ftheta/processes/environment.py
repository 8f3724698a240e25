"""The environment of a worker process.

One thread each, so that workers do not fight over the cores; with more, XLA would also split large sums by their
number, and the last bits of a result would depend on the machine's load and size. On the CPU, where nothing else is
said. No chance in the order of a set. Compiled programs are kept between runs, and do not say which lines of Python
they come from: nobody reads that, and writing it down is a tenth of the work of compiling.
"""

import os
import sys
from pathlib import Path

from .caching import compiled_kept

_THREADS = (
    "NPROC",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"
# lines of Python that a compiled program names for each operation
UNTRACED = {"JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0"}
MEMORY = "FTHETA_WORKER_MEMORY"  # bytes that the worker may take
DIES_WITH_PARENT = "FTHETA_WORKER_DIES_WITH_PARENT"


def worker_environment(temporary: Path | None = None) -> dict[str, str]:
    """What a worker is started with, given the environment of this process. Temporary files go to that folder, where
    one is given: a worker that is killed cannot delete them."""
    flags = os.environ.get("XLA_FLAGS", "").split()
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    fixed = {
        **dict.fromkeys(_THREADS, "1"),
        "XLA_FLAGS": " ".join(flags if _ONE_THREAD in flags else [*flags, _ONE_THREAD]),
        "PYTHONPATH": path,
        "PYTHONHASHSEED": "0",
    }
    folder = {} if temporary is None else {"TMPDIR": str(temporary)}
    return {"JAX_PLATFORMS": "cpu", **UNTRACED, **os.environ, **fixed, **compiled_kept(), **folder}
