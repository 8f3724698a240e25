"""The boxes of instances of robustness, read with a pattern: all that the tests of bounds need of them."""

import gzip
import re
from collections import Counter
from pathlib import Path

import numpy as np


def read_box(path: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """The ends of the box, and the class that is to win."""
    with gzip.open(path, "rt") as file:
        text = file.read()
    ends: dict[str, dict[int, float]] = {"<=": {}, ">=": {}}
    for sign, i, value in re.findall(r"\(assert \((<=|>=) X_(\d+) ([-\d.eE]+)\)\)", text):
        ends[sign][int(i)] = float(value)
    lo, hi = (np.array([ends[sign][i] for i in range(len(ends[sign]))]) for sign in (">=", "<="))
    label = Counter(k for pair in re.findall(r"Y_(\d+) Y_(\d+)", text) for k in pair).most_common(1)[0][0]
    return lo, hi, int(label)
