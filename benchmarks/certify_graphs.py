"""Verification of convolutional, smooth and product networks: instances of VNN-COMP with agreed answers, by family.

    python -m benchmarks.certify_graphs [family …] [--each 120]

For each family: how many answers are right, wrong (there must be none) and open, and the CPU seconds of all of them. An
instance may take `--each` seconds of one core. The folder of instances is named by FTHETA_VNNCOMP.
"""

import argparse
import csv
import os
import time
from pathlib import Path
from typing import Any

import ftheta as ft
from ftheta.verifying import read_network

FAMILIES = ("oval21", "collins_rul_cnn", "verivital", "cgan", "eran", "vit", "ml4acopf", "lsnc", "lsnc_relu")
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
    print(f"{'family':<18}{'right':>6}{'wrong':>6}{'open':>6}{'of':>6}{'CPU s':>10}   ({each:g} s each, one core)")
    for family in families:
        if not (FOLDER / family).is_dir():
            print(f"{family:<18}  not here: set FTHETA_VNNCOMP")
            continue
        found = run_family(FOLDER / family, each)
        numbers = "".join(f"{found[name]:>6}" for name in ("right", "wrong", "open", "of"))
        print(f"{family:<18}{numbers}{found['cpu']:>10.1f}", flush=True)


def main() -> None:
    report(list(FAMILIES), 10.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--each", type=float, default=120.0)
    asked = parser.parse_args()
    report(asked.families, asked.each)
