"""The prototype of the exact pieces of boxes, from the folder that FTHETA_SKETCHES names: it is no package.

It splits by corners in float64, as ours does, but certifies no sign and keeps neither maps nor facets.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from protocol import Run, serve, take

Work = Mapping[str, np.ndarray]
CORNERS = 4096  # that a cell may have


def counted_cells(work: Work) -> Run:
    weights = take(work, "p")
    run = _load("protoNd").regions_nd
    return lambda: run(weights[::2], weights[1::2], 1.0, CORNERS)[0]


def _load(name: str) -> Any:
    file = Path(os.environ.get("FTHETA_SKETCHES", "")) / f"{name}.py"
    if not file.is_file():
        raise FileNotFoundError(f"FTHETA_SKETCHES names no folder with {name}.py")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba's cache on disk finds the module by its name
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    serve({"counted_cells": counted_cells})
