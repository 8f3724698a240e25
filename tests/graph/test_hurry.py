"""Programs that are compiled in a hurry."""

import os
import subprocess
import sys

PROGRAM = """
import os
from ftheta.graph.hurry import compile_quickly
compile_quickly()
import jax
print(float(jax.jit(lambda x: x @ x)(jax.numpy.arange(3.0))), os.environ["XLA_FLAGS"].split()[-1])
"""


def test_xla_knows_the_flags_and_what_the_user_says_comes_last():
    said = "--xla_backend_optimization_level=1"
    environment = {**os.environ, "XLA_FLAGS": said}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert run.stdout.split() == ["5.0", said], run.stderr
