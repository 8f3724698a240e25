"""What is installed and what is not: `ftheta doctor`."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import Any

from ftheta.catalogue import plugins

_PURPOSE = {
    "cloudpickle": "functions sent to worker processes",
    "cyclopts": "command line",
    "diffrax": "adaptive solvers of differential equations",
    "equinox": "networks in JAX",
    "jax": "tracing, differentiation, compilation",
    "numba": "compiled geometry",
    "math-core": "statements as MathML",
    "numpy": "arrays",
    "optax": "optimisers",
    "pydantic": "JSON documents",
    "python-flint": "exact rationals and ball arithmetic",
    "rich": "cards in the terminal",
    "scipy": "special functions and linear algebra",
    "vl-convert-python": "charts to SVG, PNG and PDF, offline",
    "starlette": "the lab's server",
    "uvicorn": "the lab's server",
    "threadpoolctl": "linear algebra in one thread while a theorem runs",
    "websockets": "the lab's line to its pages",
    "scikit-learn": "data sets of scikit-learn",
    "torch": "PyTorch modules as subjects",
    "distributed": "sweeps on a cluster",
    "pandas": "tables as data frames",
    "pyarrow": "tables as Parquet",
}


def diagnose() -> dict[str, Any]:
    """Versions of every package that ftheta uses, the part that needs it, and how to add the missing parts."""
    rows = [_row(requirement) for requirement in metadata("ftheta").get_all("Requires-Dist") or []]
    rows = [row for row in rows if row["part"] != "dev"]
    missing = sorted({row["part"] for row in rows if row["version"] is None})
    return {
        "ftheta": version("ftheta"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "packages": rows,
        "plugins": _plugins(),
        "plugin_problems": [str(problem) for problem in plugins().problems],
        "install": {part: f"pip install 'ftheta[{part}]'" for part in missing},
    }


def _plugins() -> dict[str, list[str]]:
    """The theorems of other packages, by package and version."""
    found: dict[str, list[str]] = {}
    for plugin in plugins().found:
        found.setdefault(f"{plugin.package} {plugin.version}", []).append(plugin.theorem.id)
    return found


def _row(requirement: str) -> dict[str, Any]:
    name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
    extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
    try:
        found = version(name)
    except PackageNotFoundError:
        found = None
    return {
        "name": name,
        "version": found,
        "part": extra[1] if extra else "base",
        "purpose": _PURPOSE.get(name, ""),
    }
