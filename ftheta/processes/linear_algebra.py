"""Linear algebra in one thread: threads of BLAS wait for one another much longer than they compute on small matrices,
above all where other work is on the cores, and the last bits of a product depend on their number."""

from contextlib import AbstractContextManager
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Each BLAS that is loaded has one thread inside, and what it had before outside."""
    from threadpoolctl import threadpool_limits  # light commands do without

    return threadpool_limits(1, "blas")
