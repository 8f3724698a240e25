"""Kernels that are being compiled: whoever keeps a clock in this process can stop it meanwhile."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

while_compiling: Callable[[], AbstractContextManager[None]] = nullcontext
"""Entered while a kernel is compiled or loaded."""
