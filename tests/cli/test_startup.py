"""A command imports what it needs: exact theorems run without JAX, and floats are doubles wherever JAX comes in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from ftheta.cli import run as call_command
from ftheta.lazy import double_precision, is_array, tree_leaves
from ftheta.networks import ACTIVATIONS

ROOT = Path(__file__).parents[2]
HEAVY = ("jax", "scipy", "equinox", "optax", "diffrax", "jaxtyping", "numba", "pydantic")


def run(code: str, **environment: str) -> str:
    """What a new process prints."""
    own = {"PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def imported_by(*words: str) -> set[str]:
    """The heavy packages that a command line has imported at its end."""
    code = f"""
import json, sys
from ftheta.cli import run
assert run({list(words)!r}) == 0
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
    return set(json.loads(run(code)))


@pytest.mark.parametrize("words", [("list",), ("show", "hat-function"), ("check", "hat-function")])
def test_what_needs_no_jax_does_not_import_it(words):
    assert imported_by(*words) == set()


def test_descent_needs_jax_and_nothing_else_that_is_heavy():
    assert imported_by("check", "gd-strongly-convex") == {"jax"}


def test_an_easy_chain_is_verified_without_what_compiles_and_without_scipy(tmp_path):
    """What Numba has kept on disk is loaded without its compiler: a second process says so."""
    from ftheta.networks.onnx.write import write
    from ftheta.relu.network import ReluNetwork

    rng = np.random.default_rng(0)
    net = ReluNetwork.dense(
        [rng.normal(size=(5, 2)), rng.normal(size=(1, 5))], [np.zeros(5), np.zeros(1)]
    )
    write(net, tmp_path / "net.onnx")
    names = "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
    box = "".join(f"(assert (<= X_{i} 1.0))(assert (>= X_{i} -1.0))" for i in (0, 1))
    (tmp_path / "far.vnnlib").write_text(f"{names}{box}(assert (>= Y_0 1000.0))")
    words = ["verify", str(tmp_path / "net.onnx"), str(tmp_path / "far.vnnlib")]
    heavy = (
        "scipy.sparse",
        "scipy.optimize",
        "numba.np.arraymath",
        "jax",
        "ftheta.cli.audit",
        "ftheta.logic.chart",
    )
    code = f"""
import sys
from ftheta.cli import run
assert run({words!r}) == 0
from numba.core import entrypoints
print([name for name in {heavy!r} if name in sys.modules], entrypoints._already_initialized)
"""
    run(code)
    assert run(code) == "[] False"


def test_help_names_what_each_command_is_for(capsys):
    for words in ([], ["--help"], ["-h"]):
        assert call_command(words) == 0
        assert "Decide whether a property holds" in capsys.readouterr().out


def test_a_command_that_does_not_exist_is_answered_with_the_nearest(capsys):
    assert call_command(["verfy"]) == 2
    assert '"verify"' in capsys.readouterr().err


def test_nothing_is_collected_at_the_end_of_a_command():
    code = """
import atexit, gc, sys
from ftheta.__main__ import main
sys.argv = ["ftheta", "--name"]
atexit.register(lambda: print(gc.get_freeze_count() > 0))
main()
"""
    assert run(code) == "True"


@pytest.mark.parametrize(
    ("setting", "after"), [("", "float32"), ("1", "float64"), ("false", "float32")]
)
def test_jax_computes_in_doubles_also_where_it_is_imported_inside_a_run(setting, after):
    code = """
import sys
from ftheta.cli import run as call_command
from ftheta.lazy import double_precision, jnp
with double_precision():
    assert "jax" not in sys.modules
    inside = jnp.ones(1).dtype
print(inside, jnp.ones(1).dtype)
"""
    environment = {"JAX_ENABLE_X64": setting} if setting else {}
    assert run(code, **environment) == f"float64 {after}"


def test_with_jax_at_hand_doubles_end_with_the_block():
    with double_precision():
        assert jax.numpy.ones(1).dtype == np.float64
    assert jax.numpy.ones(1).dtype == np.float32


def test_leaves_of_a_tree_are_those_of_jax():
    a = np.arange(3.0)
    trees = [
        a,
        [(a, 1), (2.5, "word")],
        {"z": a, "b": [a, None]},
        (a, {"k": (jax.numpy.ones(2), 3)}),
        None,
    ]
    for tree in trees:
        for keep_none in (False, True):
            expected = jax.tree.leaves(
                tree, is_leaf=(lambda part: part is None) if keep_none else None
            )
            found = tree_leaves(tree, keep_none=keep_none)
            assert len(found) == len(expected) and all(
                one is other for one, other in zip(found, expected)
            )
    assert is_array(a) and is_array(jax.numpy.ones(2)) and not is_array(2.0)


def test_named_activations_are_the_functions_of_jax():
    assert (
        ACTIVATIONS["relu"].function is jax.nn.relu
        and ACTIVATIONS["tanh"].function is jax.numpy.tanh
    )
    assert ACTIVATIONS["gelu"].function is ACTIVATIONS["gelu"].function
