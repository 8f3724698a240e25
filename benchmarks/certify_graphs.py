"""Convolutional, smooth and product networks: their bounds beside auto_LiRPA's, and instances of VNN-COMP by family.

    python -m benchmarks.certify_graphs [family …] [--each 120]

Bounds: for each network the mean width of ours over that of auto_LiRPA's (below 1: ours are tighter), the CPU seconds
of both, and how many sampled outputs lie outside (there must be none of ours). auto_LiRPA is taken where it can be
imported, or from the folder FTHETA_AUTO_LIRPA. For each family: how many answers are right, wrong (there must be none)
and open, and the CPU seconds of all of them. An instance may take `--each` seconds of one core. The folder of instances
is named by FTHETA_VNNCOMP.
"""

import argparse
import csv
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import ftheta as ft
from ftheta.graph.domains.linear import Method
from ftheta.verifying import read_network

from ._certify_lirpa import NETWORKS, Subject, bound_with_lirpa, import_lirpa

FAMILIES = (
    "oval21",
    "collins_rul_cnn",
    "verivital",
    "cgan",
    "eran",
    "vit",
    "ml4acopf",
    "lsnc",
    "lsnc_relu",
)
FOLDER = Path(os.environ.get("FTHETA_VNNCOMP", "../shared/data/vnncomp"))


def run_family(folder: Path, each: float) -> dict[str, Any]:
    """Counts of the answers, and the CPU seconds that they took; networks are read once."""
    with (folder / "instances.csv").open() as file:
        instances = [row for row in csv.DictReader(file) if row["answer"]]
    counts = {"right": 0, "wrong": 0, "open": 0}
    networks: dict[str, Any] = {}
    begun = time.process_time()
    for row in instances:
        if row["onnx"] not in networks:
            networks[row["onnx"]] = read_network(str(folder / row["onnx"]))
        found = ft.verify(networks[row["onnx"]], folder / row["vnnlib"], budget=each, threads=1)
        if found.holds is None:
            counts["open"] += 1
        else:
            counts["right" if found.answer == row["answer"] else "wrong"] += 1
    return {**counts, "of": len(instances), "cpu": time.process_time() - begun}


def report(families: list[str], each: float) -> None:
    print(
        f"{'family':<18}{'right':>6}{'wrong':>6}{'open':>6}{'of':>6}{'CPU s':>10}   ({each:g} s each, one core)"
    )
    for family in families:
        if not (FOLDER / family).is_dir():
            print(f"{family:<18}  not here: set FTHETA_VNNCOMP")
            continue
        found = run_family(FOLDER / family, each)
        numbers = "".join(f"{found[name]:>6}" for name in ("right", "wrong", "open", "of"))
        print(f"{family:<18}{numbers}{found['cpu']:>10.1f}", flush=True)


# ---- bounds beside auto_LiRPA's --------------------------------------------------------------------------------------

SAMPLES = 2000
METHODS: tuple[Method, ...] = ("forward", "crown", "alpha-crown")


def compare_bounds() -> None:
    """Widths and times of bounds over one box of each network."""
    lirpa = import_lirpa()
    if lirpa is None:
        print("auto_LiRPA is not there (pip install auto_LiRPA, or set FTHETA_AUTO_LIRPA)")
    print(
        f"{'bounds':<26}{'method':<14}{'mean width':>12}{'CPU s':>9}{'outside':>9}{'ours/theirs':>13}{'times':>8}"
    )
    for name, make in NETWORKS.items():
        subject = make(np.random.default_rng(0))
        for method in METHODS:
            _compare(name, subject, method, lirpa)


def _compare(name: str, subject: Subject, method: Method, lirpa: Any) -> None:
    net = ft.Network.of(subject.function, example=subject.low.shape)
    ft.bounds(net, (subject.low, subject.low), method=method)  # compiled
    begun = time.process_time()
    found = ft.bounds(net, (subject.low, subject.high), method=method)
    seconds = time.process_time() - begun
    y = subject.sample(np.random.default_rng(1), SAMPLES)
    outside = int(np.sum((y < found.lower.ravel() - 1e-9) | (y > found.upper.ravel() + 1e-9)))
    width = float(np.mean(found.upper - found.lower))
    line = f"{name:<26}{method:<14}{width:>12.5f}{seconds:>9.2f}{outside:>9}"
    if lirpa is not None:
        try:
            lower, upper, peer = bound_with_lirpa(lirpa, subject, method)
            line += (
                f"{width / float(np.mean(upper - lower)):>13.3f}{peer / max(seconds, 1e-9):>8.1f}"
            )
        except Exception as error:  # a peer's refusal is a result
            line += f"   auto_LiRPA: {type(error).__name__}"
    print(line, flush=True)


def main() -> None:
    compare_bounds()
    report(list(FAMILIES), 10.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--each", type=float, default=120.0)
    asked = parser.parse_args()
    compare_bounds()
    report(asked.families, asked.each)
