"""Programs that are compiled in a hurry."""

import os
import subprocess
import sys

PROGRAM = """
import os
from ftheta.graph.hurry import compile_quickly, compiles_quickly
assert not compiles_quickly()
compile_quickly()
import jax
assert not compiles_quickly()  # the user says otherwise
os.environ["XLA_FLAGS"] += " --xla_backend_optimization_level=0"
assert compiles_quickly()
os.environ["XLA_FLAGS"] = os.environ["XLA_FLAGS"].rsplit(" ", 1)[0]
print(float(jax.jit(lambda x: x @ x)(jax.numpy.arange(3.0))), os.environ["XLA_FLAGS"].split()[-1])
"""


def test_xla_knows_the_flags_and_what_the_user_says_comes_last():
    said = "--xla_backend_optimization_level=1"
    environment = {**os.environ, "XLA_FLAGS": said}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert run.stdout.split() == ["5.0", said], run.stderr


def test_what_is_compiled_thoroughly_is_so_under_the_flags_of_a_hurry():
    """The code of a long loop at level 0 and at level 3 differ; the option decides, not the flag."""
    program = """
import jax
from ftheta.graph.hurry import thorough_compiler_options
options = thorough_compiler_options()
assert set(options) == {"xla_backend_optimization_level", "xla_cpu_use_fusion_emitters"}, options
f = lambda x: jax.numpy.exp(jax.numpy.sin(x) + jax.numpy.tanh(x)).sum()
compiled = jax.jit(f, compiler_options=dict(options)).lower(jax.numpy.ones(64)).compile()
plain = jax.jit(f).lower(jax.numpy.ones(64)).compile()
size = lambda c: c.memory_analysis().generated_code_size_in_bytes
print(len(compiled.as_text()) != len(plain.as_text()) or size(compiled) != size(plain))
"""
    flags = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    environment = {**os.environ, "XLA_FLAGS": flags}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert run.stdout.split() == ["True"], run.stderr + run.stdout
