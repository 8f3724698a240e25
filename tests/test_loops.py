"""Kernels: an entry and its parts are one program, optimised and made machine code once."""

from typing import Any

import numpy as np
import pytest
from numba.core import config
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary

from ftheta.loops import entry, inner, outlined


@inner()
def square(x):
    return x * x


@inner()
def cube(x):
    return square(x) * x


@outlined()
def add_powers(values, total):
    for i in range(len(values)):
        total += square(values[i]) + cube(values[i])
    return total


def add_twice(values):
    return add_powers(values, add_powers(values, 1.0))


@pytest.fixture
def kernel(tmp_path, monkeypatch) -> Any:
    """An entry of which nothing is kept on disk yet."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return entry(add_twice)


def test_an_entry_alone_is_made_machine_code(kernel, monkeypatch):
    made = []
    finish = JITCodeLibrary._finalize_specific

    def note(library: Any) -> None:
        made.append(library.name)
        finish(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", note)
    values = np.array([1.0, -2.0, 0.5])
    assert kernel(values) == 1.0 + 2.0 * np.sum(values**2 + values**3)
    assert [name for name in made if name != "nrt"] == [
        "add_twice"
    ]  # nrt: the run-time system of Numba itself


def test_a_long_part_is_in_the_program_once_and_short_ones_are_in_it_where_they_are_called(kernel):
    kernel(np.ones(3))
    (program,) = kernel.inspect_llvm().values()
    defined = [line for line in program.splitlines() if line.startswith("define")]
    assert sum("add_powers" in line for line in defined) == 1
    assert not any("square" in line or "cube" in line for line in defined)


def test_what_is_kept_is_loaded_without_the_compiler(kernel, monkeypatch):
    values = np.array([1.0, -2.0, 0.5])
    told = kernel(values)

    def refresh(_: Any) -> None:
        pytest.fail("all that compiling could need is imported")

    monkeypatch.setattr(BaseContext, "refresh", refresh)
    again = entry(add_twice)
    assert again(values) == told
    assert again.stats.cache_hits == {again.signatures[0]: 1}
