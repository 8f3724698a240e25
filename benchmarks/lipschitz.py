"""Lipschitz constants: our enclosures beside the product of norms and ECLipsE-Fast, on the same networks, in one run.

Times are processor seconds on one core. The networks are those of VNN-COMP in the folder that FTHETA_VNNCOMP names;
what is not there is left out, and said so. ECLipsE-Fast is written here in a few lines after its paper (multipliers
that are multiples of 1), as a baseline; LipSDP is solved by cvxpy where FTHETA_CVXPY_PYTHON names a Python that has it.
"""

import gzip
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import ftheta as ft
from ftheta.networks import random_mlp

FOLDER = Path(os.environ.get("FTHETA_VNNCOMP", "../shared/data/vnncomp"))
GLOBAL = (
    ("acasxu", "ACASXU_run2a_1_1_batch_2000.onnx", 2.0),
    ("mnist_fc", "mnist-net_256x2.onnx", 5.0),
)
BOXES = 15
LOCAL_BUDGET = 8.0
PROGRAMS = (((10, 20, 20, 5), 1.0), ((20, 40, 40, 10), 1.0), ((64, 64, 64, 10), 2.0))
PATIENCE = 300.0  # seconds for one program of a peer


def main() -> None:
    compare_programs()
    compare_whole_networks()
    compare_boxes()


def compare_programs() -> None:
    """The same semidefinite program by cvxpy: our bound over the solver's, and its processor seconds over ours."""
    python = os.environ.get("FTHETA_CVXPY_PYTHON")
    if python is None:
        print("LipSDP by cvxpy: left out (FTHETA_CVXPY_PYTHON names no Python that has cvxpy)")
        return
    for widths, budget in PROGRAMS:
        net = random_mlp(np.random.default_rng(0), widths, "relu")
        start = time.process_time()
        found = ft.lipschitz(net, budget=budget)
        spent = time.process_time() - start
        name = "-".join(map(str, widths))
        print(f"{name}: {found.lo:.6g} ≤ Lip(f) ≤ {found.hi:.6g}, {spent:.2f} s")
        for solver in ("CLARABEL", "SCS"):
            peer = _solve_in_cvxpy(python, [layer.weight for layer in net.layers], solver)
            if isinstance(peer, str):
                print(f"  {solver}: {peer}")
                continue
            tightness = f"ours is {found.hi / peer['bound']:.5f}× its bound"
            ratios = f"{tightness}; it takes {peer['seconds'] / spent:.3g}× our time"
            print(
                f"  cvxpy {peer['version']}, {solver}: {peer['bound']:.6g}, {peer['seconds']:.2f} s: {ratios}",
                flush=True,
            )


def _solve_in_cvxpy(python: str, weights: list[np.ndarray], solver: str) -> dict[str, Any] | str:
    """What the peer says, or why it says nothing."""
    script = Path(__file__).with_name("_lipschitz_cvxpy.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.npz"
        np.savez(file, allow_pickle=False, **{f"W{k}": W for k, W in enumerate(weights)})
        try:
            done = subprocess.run(
                [python, str(script), str(file), solver],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return f"not done after {PATIENCE:g} s"
        except OSError as error:
            return f"cannot be run: {error}"
    if done.returncode:
        return (
            done.stderr.strip().splitlines()[-1]
            if done.stderr.strip()
            else f"ended with {done.returncode}"
        )
    return json.loads(done.stdout.splitlines()[-1])


def compare_whole_networks() -> None:
    """Over all of space, in the 2-norm: both ends, and what peers show."""
    for family, name, budget in GLOBAL:
        path = find_network(family, name)
        if path is None:
            print(f"{name}: not in {FOLDER / family} (set FTHETA_VNNCOMP)")
            continue
        net: Any = ft.load(str(path))
        start = time.process_time()
        found = ft.lipschitz(net, budget=budget)
        spent = time.process_time() - start
        weights = [layer.weight for layer in net.description.layers]
        start = time.process_time()
        fast = eclipse_fast(weights)
        fast_spent = time.process_time() - start
        product = float(np.prod([np.linalg.norm(W, 2) for W in weights]))
        print(
            f"{name}: {found.lo:.6g} ≤ Lip(f) ≤ {found.hi:.6g}, {spent:.2f} s (ratio {found.ratio:.3g})"
        )
        print(f"  product of norms {product:.4g} ({product / found.hi:.3g}×)")
        print(
            f"  ECLipsE-Fast, not rounded outward, {fast:.4g} ({fast / found.hi:.3g}×), {fast_spent:.2f} s"
        )


def eclipse_fast(weights: list[np.ndarray]) -> float:
    """The recursion of ECLipsE-Fast from the first layer on, in plain floats: $M_i$ is what is left for layer $i$."""
    M = np.eye(weights[0].shape[1])
    for W in weights[:-1]:
        inner = W @ np.linalg.solve(M, W.T)
        t = 2 / np.linalg.eigvalsh(inner)[-1]
        M = t * np.eye(len(W)) - 0.25 * t * t * inner
    return float(np.sqrt(np.linalg.eigvalsh(weights[-1] @ np.linalg.solve(M, weights[-1].T))[-1]))


def compare_boxes() -> None:
    """On the boxes of the properties of mnist_fc at ε = 0.03: the bound over the steepest slope found."""
    path = find_network("mnist_fc", "mnist-net_256x2.onnx")
    if path is None:
        print(f"local constants: no networks in {FOLDER} (set FTHETA_VNNCOMP)")
        return
    net = ft.load(str(path))
    ratios = []
    for k in range(BOXES):
        box = read_box(FOLDER / "mnist_fc" / "vnnlib" / f"prop_{k}_0.03.vnnlib.gz")
        start = time.process_time()
        found = ft.lipschitz(net, box, budget=LOCAL_BUDGET)
        spent = time.process_time() - start
        ratios.append(found.ratio)
        print(
            f"  box {k}: {found.lo:.4g} ≤ Lip(f) ≤ {found.hi:.4g} (ratio {found.ratio:.3g}), {spent:.1f} s",
            flush=True,
        )
    print(f"local constants, ε = 0.03: median ratio {np.median(ratios):.3g} over {BOXES} boxes")


def read_box(path: Path) -> tuple[Any, Any]:
    """The ends of the inputs of a property."""
    with gzip.open(path, "rt") as file:
        text = file.read()
    ends: dict[str, dict[int, float]] = {">=": {}, "<=": {}}
    for sign, entry, value in re.findall(r"\(assert \((<=|>=) X_(\d+) ([-\d.e]+)\)\)", text):
        ends[sign][int(entry)] = float(value)
    low, high = (np.array([part[k] for k in sorted(part)]) for part in (ends[">="], ends["<="]))
    return low, high


def find_network(family: str, name: str) -> Path | None:
    folder = FOLDER / family / "onnx"
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), None)


if __name__ == "__main__":
    main()
