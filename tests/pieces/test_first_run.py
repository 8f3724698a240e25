"""The first run after installation, before anything is compiled, finds what every later one finds."""

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.nightly
@pytest.mark.parametrize("id", ["regions-deep", "regions-shallow", "relu-net-is-cpa"])
def test_a_verdict_does_not_depend_on_what_was_compiled_before(id, tmp_path):
    folders = {
        "NUMBA_CACHE_DIR": tmp_path / "kernels",
        "JAX_COMPILATION_CACHE_DIR": tmp_path / "programs",
    }
    env = os.environ | {name: str(folder) for name, folder in folders.items()}
    command = [sys.executable, "-m", "ftheta", "check", id, "--json"]
    results = []
    for _ in range(2):
        told = subprocess.run(command, env=env, capture_output=True, check=True, text=True).stdout
        result = json.loads(told)
        results.append({key: result[key] for key in ("verdict", "summary", "claims", "numbers")})
    assert any(folders["NUMBA_CACHE_DIR"].rglob("*.nbi"))  # something was compiled
    assert results[0] == results[1] and results[0]["verdict"] != "inconclusive"
