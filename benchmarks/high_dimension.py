"""Exact pieces in many dimensions: linear programs beside corners, and how both grow with the dimension.

Networks have the weights of a common default initialisation on [-1, 1]^d; everything is counted with certainty. The
sketch (loaded by path where it lies beside the project) splits by corners too. As a reference, the fastest published
enumerator in this range, nnenum, does about 600 regions a second on such networks (measured elsewhere, not here).
Times are processor times of one core, compilation left out.
"""

import time
from math import inf

from benchmarks.pieces import arrays, best, network, sketch
from ftheta.pieces import Box, count_pieces
from ftheta.pieces.enumeration import Budget, Tally, enumerate_cells
from ftheta.pieces.plan import make_plan
from ftheta.relu.network import ReluNetwork

NNENUM = 600  # regions a second
BESIDE = [(4, 12, 12, 1), (5, 12, 12, 1), (6, 12, 12, 1), (8, 10, 10, 1), (10, 10, 10, 1)]
ALONE = [(12, 10, 10, 1), (16, 12, 12, 1), (20, 12, 12, 1), (20, 10, 10, 10, 1), (50, 12, 12, 1)]
BY_SIZE = [(12, 6, 6, 1), (12, 8, 8, 1), (12, 10, 10, 1), (12, 12, 12, 1)]
WIDE = [(16, 64, 64, 1), (32, 64, 64, 1), (784, 32, 1)]
SECONDS = 20.0  # for networks of very many regions: the rate within this time


def by_corners(net: ReluNetwork, box: Box) -> Tally:
    from ftheta.pieces.methods.box import BoxKernel, box_body

    kernel = BoxKernel(make_plan(net, box.chart), *box_body(box), ask=True, store=False, maps=False)
    for _ in enumerate_cells(kernel, Budget(), inf):
        pass
    return kernel.tally


def by_programs(net: ReluNetwork, box: Box, seconds: float | None = None) -> Tally:
    from ftheta.pieces.methods.lp import LPKernel

    kernel = LPKernel(make_plan(net, box.chart), box, ask=True, store=False, maps=False)
    deadline = inf if seconds is None else time.perf_counter() + seconds
    for _ in enumerate_cells(kernel, Budget(None, seconds), deadline):
        pass
    return kernel.tally


def row(widths: tuple[int, ...], tally: Tally, seconds: float) -> str:
    rate = tally.cells / seconds
    known = "" if tally.complete else "+"
    name = "-".join(map(str, widths))
    return f"  {name:16} {tally.cells:9,}{known:1} regions {rate:10,.0f} a second, {rate / NNENUM:6.1f} x nnenum's"


def beside() -> None:
    peer = sketch("protoNd")
    print("\nPrograms, corners, sketch" + ("" if peer else "  (protoNd.py is not there)"))
    for widths in BESIDE:
        net = network(widths)
        box = Box.cube(widths[0])
        tally = by_programs(net, box)
        runs = 3 if widths[0] < 8 else 1
        ours = best(3, by_programs, net, box)
        corners = best(runs, by_corners, net, box)
        assert by_corners(net, box).cells == tally.cells or widths[0] >= 8
        line = row(widths, tally, ours) + f"; corners take {corners / ours:6.1f} times as long"
        if peer:
            line += f", the sketch {best(runs, peer.regions_nd, *arrays(net), 1.0, MAXV=1 << 14) / ours:6.1f}"
        print(line, flush=True)


def alone(title: str, cases: list[tuple[int, ...]]) -> None:
    print(f"\n{title}")
    for widths in cases:
        net = network(widths)
        box = Box.cube(widths[0])
        begun = time.process_time()
        tally = by_programs(net, box, SECONDS)
        seconds = time.process_time() - begun
        print(row(widths, tally, seconds) + f"; {tally.answered:,} rational decisions", flush=True)


def main() -> None:
    count_pieces(network((6, 2, 2, 1)), Box.cube(6))  # compilation
    beside()
    alone("Growth with the dimension", ALONE)
    alone("Growth with the number of regions", BY_SIZE)
    alone(f"Wide and deep, within {SECONDS:g} seconds", WIDE)


if __name__ == "__main__":
    main()
