"""Exact pieces: regions a second, and ours beside the peers in one run.

The peers are the throw-away sketches (loaded by path where they lie beside the project) and `relucent` where it is
installed. Times are processor times, the best of several runs, compilation left out; both count the same networks.
"""

import importlib.util
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np

from ftheta.pieces import Box, count_pieces, pieces
from ftheta.relu.network import ReluNetwork

SKETCHES = Path(__file__).resolve().parents[2] / "shared" / "sketches"
PLANAR = [(2, 32, 32, 1), (2, 64, 64, 64, 1), (2, 128, 128, 1), (2, 256, 256, 256, 1)]
BOXES = [(3, 16, 16, 1), (3, 32, 32, 32, 1), (4, 12, 12, 1), (4, 24, 24, 1), (6, 10, 10, 1)]
DECADES = [(2, 24, 24, 1), (2, 80, 80, 1), (2, 256, 256, 1), (2, 800, 800, 1)]


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
        net, box = network(widths), Box.cube(widths[0])
        n = int(count_pieces(net, box).lo)
        counted, stored = best(5, count_pieces, net, box), best(5, pieces, net, box)
        row = f"  {'-'.join(map(str, widths)):18} {n:9,} regions  counted {counted:8.4f} s  stored {stored:8.4f} s"
        if peer:
            theirs = best(5, getattr(peer, run), *arrays(net), 1.0)
            row += f"  sketch {theirs:8.4f} s  ratio counted {counted / theirs:5.2f}, stored {stored / theirs:5.2f}"
        print(row, flush=True)


def over_decades() -> None:
    print("\nRegions a second over three decades (planar, counted; one segment for d = 1; rational arithmetic)")
    for widths in DECADES:
        net = network(widths)
        count = int(count_pieces(net, Box.cube(2)).lo)
        seconds = best(1, count_pieces, net, Box.cube(2))
        print(f"  {'-'.join(map(str, widths)):18} {count:9,} regions  {count / seconds:12,.0f} a second", flush=True)
    for k in (10, 14, 18):
        seconds = best(2, pieces, tent(k), Box([0.0], [1.0]))
        print(f"  tent map, {k} fold   {2**k:9,} pieces   {2**k / seconds:12,.0f} a second", flush=True)
    net = network((2, 16, 16, 1))
    count = int(count_pieces(net, Box.cube(2)).lo)
    seconds = best(2, pieces, net, Box.cube(2), exact=True)
    print(f"  2-16-16-1 rational {count:9,} regions  {count / seconds:12,.0f} a second", flush=True)


def main() -> None:
    beside_the_sketch("Planar slices", "proto2d", "regions2d", PLANAR)
    beside_the_sketch("Boxes", "protoNd", "regions_nd", BOXES)
    over_decades()
    if importlib.util.find_spec("relucent") is None:
        print("\nrelucent is not installed: not compared.")
    else:
        print("\nrelucent is installed, but needs a licensed solver and 26–200 ms a region: not run here.")


if __name__ == "__main__":
    main()
