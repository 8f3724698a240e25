"""Where the benchmarks of VNN-COMP are, and boxes of instances of robustness, read with a pattern."""

import gzip
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np

_NAMED = Path(os.environ.get("FTHETA_VNNCOMP", "../shared/data/vnncomp"))
BENCHMARKS = _NAMED / "vnncomp" if (_NAMED / "vnncomp").is_dir() else _NAMED
"""A folder with one folder for each benchmark; what is not there is skipped."""


def read_box(path: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """The ends of the box, and the class that is to win."""
    with gzip.open(path, "rt") as file:
        text = file.read()
    ends: dict[str, dict[int, float]] = {"<=": {}, ">=": {}}
    for sign, i, value in re.findall(r"\(assert \((<=|>=) X_(\d+) ([-\d.eE]+)\)\)", text):
        ends[sign][int(i)] = float(value)
    lo, hi = (np.array([ends[sign][i] for i in range(len(ends[sign]))]) for sign in (">=", "<="))
    label = Counter(k for pair in re.findall(r"Y_(\d+) Y_(\d+)", text) for k in pair).most_common(
        1
    )[0][0]
    return lo, hi, int(label)
