"""A test process gives back what it does not need."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from . import memory
from .memory import _Memory, largest_resident_bytes, let_programs_go, resident_bytes

pytestmark = pytest.mark.skipif(
    not hasattr(memory.LIBC, "malloc_trim"), reason="the memory of glibc"
)


def test_large_blocks_are_given_back_when_they_are_free_whatever_lies_between_them():
    """A heap gives back its end alone; and glibc takes larger and larger blocks from it, once such a one was freed."""
    np.ones(3_000_000)
    before = resident_bytes()
    large = []
    small = []
    for _ in range(50):
        large.append(np.ones(250_000))  # two megabytes
        small.append(np.ones(12_000))
    assert resident_bytes() - before > 80_000_000
    large.clear()
    assert resident_bytes() - before < 20_000_000
    assert len(small) == 50


def test_programs_are_let_go_where_a_process_holds_too_much(monkeypatch):
    program: Any = jax.jit(lambda x: jnp.sin(x) + 1)
    program(1.0)
    assert program._cache_size() == 1
    monkeypatch.setattr(_Memory, "limit", sys.maxsize)
    let_programs_go()
    assert program._cache_size() == 1
    monkeypatch.setattr(_Memory, "limit", 1)
    let_programs_go()
    assert program._cache_size() == 0
    assert resident_bytes() < _Memory.limit <= resident_bytes() + 2 * _Memory.room
    assert largest_resident_bytes() >= resident_bytes() > 0
