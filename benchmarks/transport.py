"""Exact and entropic transport, distances of the line and a permutation test: ours beside POT, ott-jax and SciPy, in
one run.

Each number is the smallest of a few rounds, in CPU seconds, which count every thread. Our kernels are compiled before.
POT and ott-jax are run by this Python, or by those that FTHETA_POT_PYTHON and FTHETA_OTT_PYTHON name, where they can be
imported; why one is missing is said, and times without it are shown as they are. Read the ratios.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from ftheta.transport import transport
from ftheta.transport.certificate import transform
from ftheta.transport.line import line_cost
from ftheta.transport.two_sample import permutation_test

ROUNDS = 2
ENTROPIC_ROUNDS = 5  # the first ones wait for memory


def problems() -> dict[str, np.ndarray]:
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    pixels = np.asarray(load_digits(return_X_y=True)[0])
    found = {"digits x": pixels[:898], "digits y": pixels[898:1796]}
    for n in (1000, 4000, 8000):
        found |= {
            f"plane {n} x": rng.normal(size=(n, 2)),
            f"plane {n} y": rng.normal(size=(n, 2)) * [1, 2] + [1, 0],
        }
    return found | {"line x": rng.normal(size=10**6), "line y": rng.normal(size=10**6) + 0.1}


def clock(run: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, Any]:
    seconds = []
    found = None
    for _ in range(rounds):
        before = time.process_time()
        found = run()
        seconds.append(time.process_time() - before)
    return min(seconds), found


def ask_peer(name: str, arrays: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Seconds and value of a peer, "POT" or "OTT", for each problem that it is given."""
    python = os.environ.get(f"FTHETA_{name}_PYTHON", sys.executable)
    script = Path(__file__).with_name(f"_transport_{name.lower()}.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problems.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        done = subprocess.run([python, str(script), str(path)], capture_output=True, text=True)
    if done.returncode:
        print(f"   {name} was not run: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        return {}
    return json.loads(done.stdout)


def show(name: str, seconds: float, peer: list[float] | None, told: str = "") -> None:
    beside = f"   POT {peer[0]:8.3f} s, {peer[0] / seconds:6.2f} times ours" if peer else ""
    print(f"   {name:44} {seconds:8.3f} s{beside}   {told}")


def main() -> None:
    arrays = problems()
    transport(arrays["digits x"][:20], arrays["digits y"][:20])
    peer = ask_peer("POT", arrays)
    other_peer = ask_peer("OTT", arrays)
    x, y = arrays["line x"], arrays["line y"]
    sorts, _ = clock(lambda: (np.sort(x), np.sort(y)))
    seconds, found = clock(lambda: line_cost(x, y))
    show(
        "W₁, 10⁶ and 10⁶ numbers",
        seconds,
        peer.get("line"),
        f"two sorts {sorts:.3f} s, SciPy {clock(lambda: wasserstein_distance(x, y), 1)[0]:.3f} s",
    )
    for name in ("digits", "plane 1000", "plane 4000", "plane 8000"):
        s, t = arrays[f"{name} x"], arrays[f"{name} y"]
        seconds, found = clock(lambda s=s, t=t: transport(s, t), 1 if "8000" in name else ROUNDS)
        certificate, _ = clock(lambda found=found: transform(found.problem, found.f))
        other = peer.get(name)
        agrees = (
            f", relative difference {abs(other[1] / found.value.middle - 1):.1e}" if other else ""
        )
        show(
            f"exact, {name}",
            seconds,
            other,
            f"gap {found.gap:.1e}, certificate {100 * certificate / seconds:.1f} %{agrees}",
        )
    C = cdist(arrays["plane 1000 x"], arrays["plane 1000 y"], "sqeuclidean")
    print(
        f"   {'SciPy assignment, plane 1000':44} {clock(lambda: linear_sum_assignment(C), 1)[0]:8.3f} s"
    )
    median = float(np.median(C))
    for share in (0.05, 0.01, 0.002):
        epsilon = share * median
        seconds, found = clock(
            lambda e=epsilon: transport(arrays["plane 1000 x"], arrays["plane 1000 y"], epsilon=e),
            ENTROPIC_ROUNDS,
        )
        enclosed = f"{found.iterations} iterations, exact cost in [{found.cost.lo:.6g}, {found.cost.hi:.6g}]"
        if beside := other_peer.get(f"sinkhorn {share:g}"):
            enclosed += f", ott-jax {beside[0]:.3f} s, {beside[0] / seconds:.2f} times ours"
        show(
            f"Sinkhorn, plane 1000, ε = {share:g} median",
            seconds,
            peer.get(f"sinkhorn {share:g}"),
            enclosed,
        )
    s, t = arrays["plane 1000 x"], arrays["plane 1000 y"]
    seconds, found = clock(lambda: permutation_test(s, t, permutations=1000))
    show("MMD, 1,000 and 1,000 rows, 1,000 permutations", seconds, None, f"p = {found.p_value:.3g}")
