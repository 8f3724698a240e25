"""Linear algebra in one thread: threads of BLAS wait for one another much longer than they compute on small matrices,
above all where other work is on the cores, and the last bits of a product depend on their number."""

import os
from contextlib import AbstractContextManager
from typing import Any

_SET_BY_IMPORT = "KMP_DUPLICATE_LIB_OK"


def one_blas_thread() -> AbstractContextManager[Any]:
    """Each BLAS that is loaded has one thread inside, and what it had before outside."""
    was_set = _SET_BY_IMPORT in os.environ
    from threadpoolctl import threadpool_limits  # light commands do without

    if not was_set:  # the user's environment stays as it is
        os.environ.pop(_SET_BY_IMPORT, None)
    return threadpool_limits(1, "blas")
