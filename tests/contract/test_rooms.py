"""Two rules of the rooms: claims and charts are built by theorems, and a core is shared."""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ftheta

ROOT = Path(__file__).parents[2]
CLAIMS = {"AtMost", "Identity", "Rate", "Converges", "Exists", "Evidence"}
CHARTS = {
    "Curves",
    "Bars",
    "Heatmap",
    "Histogram",
    "Points",
    "Regions",
    "Diagram",
    "Motion",
    "Dag",
    "draw_curves",
}
BUILDERS = ("theorems", "auditing", "logic", "report", "running")
PUBLIC = (
    "__main__",
    "auditing",
    "catalogue",
    "checking",
    "cli",
    "lab",
    "report",
    "running",
    "subjects",
    "verifying",
)

# what `ft.graph`, `ft.pieces`, `ft.approximate`, `ft.lipschitz` and `ft.robustness` hand to a user can draw itself
DRAWS_ITSELF = {
    "ftheta.graph.tableaux",
    "ftheta.pieces.pictures",
    "ftheta.approximation.leshno",
    "ftheta.approximation.rates",
    "ftheta.approximation.result",
    "ftheta.approximation.spectral_norm",
    "ftheta.certify.ladder.result",
    "ftheta.stability.accuracy",
}


@cache
def modules() -> Mapping[str, Path]:
    found = {}
    for path in (ROOT / "ftheta").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@dataclass(frozen=True)
class Module:
    """What is needed of a module's syntax tree, which itself would take much memory."""

    imports: set[str]  # of other modules, in functions too
    calls: list[tuple[str, int]]  # what is called, and in which line


@cache
def read(name: str) -> Module:
    nodes = list(ast.walk(ast.parse(modules()[name].read_text(encoding="utf-8"))))
    calls = [(_called(node), node.lineno) for node in nodes if isinstance(node, ast.Call)]
    return Module(_imported(name, nodes) & modules().keys() - {name}, calls)


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _imported(name: str, nodes: Iterable[ast.AST]) -> set[str]:
    is_package = modules()[name].name == "__init__.py"
    here = name.split(".") if is_package else name.split(".")[:-1]
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


def reach(start: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    waiting = list(start)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += read(module).imports
    return seen


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_claims_and_charts_are_built_in_theorems_and_in_the_audit():
    for module in modules():
        if room(module) in BUILDERS or module in DRAWS_ITSELF:
            continue
        for called, line in read(module).calls:
            assert called not in CLAIMS | CHARTS, f"{module}:{line} builds {called}"


def test_a_core_serves_two_theorems_the_audit_or_the_public_interface():
    theorems = {
        module
        for module in modules()
        if module.startswith("ftheta.theorems.") and module.count(".") == 3
    }
    entries = [module for module in modules() if room(module) in PUBLIC]
    public = reach([*entries, *ftheta._HOME.values()])
    users = Counter[str]()
    for theorem in theorems:
        own = [
            module for module in modules() if module == theorem or module.startswith(f"{theorem}.")
        ]
        users.update(reach(own))
    alone = [m for m, n in users.items() if n == 1 and m not in public and room(m) != "theorems"]
    assert not alone, alone
