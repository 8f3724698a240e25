"""Exact pieces: regions a second, and ours beside the peers in one run.

The peers are prototypes (in the folder that FTHETA_SKETCHES names) and `relucent` where it is
installed, here or in the interpreter named by RELUCENT_PYTHON. Times are processor times, the best of several runs,
compilation left out; both count the same networks. The planar sketch stores its regions, that for boxes counts them.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np

from ftheta.pieces import Box, Space, count_pieces, pieces
from ftheta.relu.network import ReluNetwork

# a folder with the prototypes to compare with
SKETCHES = Path(os.environ.get("FTHETA_SKETCHES", "sketches"))
PLANAR = [(2, 32, 32, 1), (2, 64, 64, 64, 1), (2, 128, 128, 1), (2, 256, 256, 256, 1)]
BOXES = [
    (3, 16, 16, 1),
    (3, 32, 32, 32, 1),
    (4, 12, 12, 1),
    (4, 24, 24, 1),
    (5, 14, 14, 1),
    (6, 14, 14, 1),
    (7, 10, 10, 1),
    (8, 9, 9, 1),
]
# one network on larger and larger boxes
FIXED = (4, 76, 76, 1)
RADII = (0.18, 0.36, 0.75, 3.0)
STREAMED = 10_000_000


def network(widths: tuple[int, ...], seed: int = 0) -> ReluNetwork:
    rng = np.random.default_rng(seed)
    draw = lambda n, *shape: rng.uniform(-(n**-0.5), n**-0.5, shape).astype(np.float32)
    pairs = [(draw(n, m, n), draw(n, m)) for n, m in pairwise(widths)]
    return ReluNetwork.dense([W for W, _ in pairs], [b for _, b in pairs])


def tent(k: int) -> ReluNetwork:
    inner = [np.array([[2.0, -4.0], [2.0, -4.0]])] * (k - 1)
    weights = [np.array([[1.0], [1.0]]), *inner, np.array([[2.0, -4.0]])]
    return ReluNetwork.dense(weights, [np.array([0.0, -0.5])] * k + [np.zeros(1)])


def sketch(name: str) -> ModuleType | None:
    file = SKETCHES / f"{name}.py"
    if not file.exists():
        return None
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba's cache on disk finds the module by its name
    spec.loader.exec_module(module)
    return module


def best(runs: int, work: Callable[..., object], *given: object, **named: object) -> float:
    work(*given, **named)  # compilation, caches
    times = []
    for _ in range(runs):
        begun = time.process_time()
        work(*given, **named)
        times.append(time.process_time() - begun)
    return min(times)


def arrays(net: ReluNetwork) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [step.dense() for step in net.steps], [step.offset for step in net.steps]


def beside_the_sketch(title: str, name: str, run: str, cases: list[tuple[int, ...]]) -> None:
    peer = sketch(name)
    print(f"\n{title}" + ("" if peer else f"  ({name}.py is not there: ours alone)"))
    for widths in cases:
        net = network(widths)
        box = Box.cube(widths[0])
        n = int(count_pieces(net, box).lo)
        counted = best(5, count_pieces, net, box)
        stored = best(5, pieces, net, box)
        row = f"  {'-'.join(map(str, widths)):18} {n:9,} regions  counted {counted:8.4f} s  stored {stored:8.4f} s"
        if peer:
            most_corners = () if widths[0] < 6 else (4096,)
            theirs = best(5, getattr(peer, run), *arrays(net), 1.0, *most_corners)
            row += f"  sketch {theirs:8.4f} s  ratio counted {counted / theirs:5.2f}, stored {stored / theirs:5.2f}"
        print(row, flush=True)


def over_decades() -> None:
    name = "-".join(map(str, FIXED))
    print(f"\nRegions a second at fixed width: {name} on growing boxes, counted")
    net = network(FIXED)
    for radius in RADII:
        begun = time.process_time()
        count = int(count_pieces(net, Box.cube(FIXED[0], radius)).lo)
        seconds = time.process_time() - begun
        print(
            f"  radius {radius:<11g} {count:12,} regions  {count / seconds:12,.0f} a second",
            flush=True,
        )
    print("\nSegments, and rational arithmetic")
    for k in (10, 14, 18):
        seconds = best(2, pieces, tent(k), Box([0.0], [1.0]))
        print(
            f"  tent map, {k} fold   {2**k:9,} pieces   {2**k / seconds:12,.0f} a second",
            flush=True,
        )
    net = network((2, 16, 16, 1))
    count = int(count_pieces(net, Box.cube(2)).lo)
    seconds = best(2, pieces, net, Box.cube(2), exact=True)
    print(f"  2-16-16-1 rational {count:9,} regions  {count / seconds:12,.0f} a second", flush=True)


def streamed() -> None:
    """In a process of its own, so that the peak is that of the stream."""
    if not Path("/proc/self/status").exists():
        print("\nStreamed: the peak of memory is read from /proc, which is not there: not run.")
        return
    code = f"""
import re, time
from pathlib import Path
from benchmarks.pieces import network
from ftheta.pieces import Box, stream_pieces
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
begun, cells = time.process_time(), 0
for chunk in stream_pieces(network((4, 76, 76, 1)), Box.cube(4, 3.0), max_cells={STREAMED}):
    cells += len(chunk)
    if cells < {STREAMED} // 10:
        early = peak()
rate = cells / (time.process_time() - begun)
print(f"  {{cells:,}} regions of 4-76-76-1, {{rate:,.0f}} a second;", end=" ")
print(f"peak memory {{peak():,.0f}} MB, after a tenth of them {{early:,.0f}} MB")
"""
    print("\nStreamed, nothing kept")
    subprocess.run([sys.executable, "-c", code], check=True)


def by_threads() -> None:
    print(
        "\nTwo threads (wall and processor seconds of one run each; wall times need an idle machine)"
    )
    for widths in ((2, 256, 256, 256, 1), (3, 96, 96, 96, 1), (4, 40, 40, 1)):
        net = network(widths)
        box = Box.cube(widths[0])
        row = ""
        for workers in (1, 2):
            wall = time.perf_counter()
            cpu = time.process_time()
            count = int(count_pieces(net, box, workers=workers).lo)
            wall = time.perf_counter() - wall
            cpu = time.process_time() - cpu
            row += f"  {workers}: wall {wall:.3f} s, processor {cpu:.3f} s"
        print(f"  {'-'.join(map(str, widths)):18} {count:9,} regions{row}", flush=True)


RELUCENT = """
import json, sys, time, relucent
if __name__ == "__main__":
    relucent.set_seeds(0)
    net = relucent.mlp(widths=[2, 16, 16, 1])
    layers = [layer for layer in net.layers.values() if hasattr(layer, "weight")]
    cells, begun = relucent.Complex(net), time.perf_counter()
    cells.bfs()
    pairs = [(layer.weight.tolist(), layer.bias.ravel().tolist()) for layer in layers]
    print(json.dumps([len(cells), time.perf_counter() - begun, pairs]))
"""


def beside_relucent() -> None:
    """Its own random network, all of the plane; run as a program apart, wall times (it starts processes)."""
    python = os.environ.get("RELUCENT_PYTHON") or (
        sys.executable if importlib.util.find_spec("relucent") else None
    )
    if python is None:
        print("\nrelucent is not installed: not compared.")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "run_relucent.py"
        program.write_text(RELUCENT)
        answer = subprocess.run(
            [python, str(program)], capture_output=True, text=True, check=False, cwd=folder
        )
    if answer.returncode:
        print(f"\nrelucent does not run here: {answer.stderr.strip().splitlines()[-1]}")
        return
    count, theirs, pairs = json.loads(answer.stdout.strip().splitlines()[-1])
    net = ReluNetwork.dense([np.array(W) for W, _ in pairs], [np.array(b) for _, b in pairs])
    ours = best(3, count_pieces, net, Space(2))
    found = int(count_pieces(net, Space(2)).lo)
    print(
        f"\nrelucent, 2-16-16-1 on all of the plane: {count:,} regions in {theirs:.2f} s;"
        f" ours {found:,} in {ours:.4f} s, {theirs / ours:,.0f} times as fast"
    )


def main() -> None:
    beside_the_sketch("Planar slices", "proto2d", "regions2d", PLANAR)
    beside_the_sketch("Boxes", "protoNd", "regions_nd", BOXES)
    over_decades()
    streamed()
    by_threads()
    beside_relucent()


if __name__ == "__main__":
    main()
