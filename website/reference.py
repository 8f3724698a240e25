"""The Python reference: one page per public name, for autodoc to fill."""

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any, get_args, get_type_hints

import ftheta
from ftheta.report.mathml import words_html
from ftheta.report.page import table

from .markup import heading, html_block, join, toctree

THEMES = {
    "Subjects": ("Network", "Target", "Dataset", "Training", "Measure", "Family", "load", "save"),
    "Theorems": ("check", "list", "show", "theorems", "Result", "Verdict", "Enclosure"),
    "Audits": ("audit", "watch", "lightning_callback"),
    "ReLU networks, exactly": (
        *(
            "relu_form",
            "pieces",
            "count_pieces",
            "decompile",
            "equal",
            "compile_cpa",
            "fem_basis",
            "simplify",
        ),
    ),
    "Verification and robustness": (
        *(
            "verify",
            "Robust",
            "Outputs",
            "Monotone",
            "Convex",
            "Close",
            "Decreases",
            "Ball",
            "Polytope",
            "bounds",
        ),
        *("range", "reach", "lipschitz", "attack", "certified_radius", "robustness", "smooth"),
    ),
    "Graphs and gradients": ("graph", "check_gradient"),
    "Training": ("fit", "constants", "sweep", "risk", "risk_bounds"),
    "Width, depth, attention": ("approximate", "barron_norm", "ntk", "nngp", "mean_field"),
    "Symmetry": ("groups", "equivariance_defect", "equivariant_maps"),
    "Generative models and transport": (
        *("flow", "diffuse", "langevin", "elbo", "ppca", "transport", "distance"),
    ),
}
CALLED = {"graph": "tableau", "pieces": "pieces", "transport": "transport"}
"""Packages that can be called, with the function that this calls."""


def theme_of(name: str) -> str:
    """The heading under which a public name stands; names that no theme lists stand under the last."""
    return next((theme for theme, names in THEMES.items() if name in names), "More")


def reference_index() -> str:
    """All public names by theme, with the first sentence of each."""
    themes: dict[str, list[str]] = {
        theme: [n for n in names if n in dir(ftheta)] for theme, names in THEMES.items()
    }
    more = [name for name in dir(ftheta) if theme_of(name) == "More"]
    parts = []
    for theme, names in (themes | ({"More": more} if more else {})).items():
        rows = [
            (f'<a href="{name}.html"><code>ft.{name}</code></a>', words_html(summary_of(name)))
            for name in names
        ]
        parts += [
            heading(2, theme),
            html_block(table(("name", "what it does"), rows, kind="names", left=2)),
        ]
    lead = "Every public name is one attribute of `ftheta`, imported when it is first used:\n"
    example = "```python\nimport ftheta as ft\n```\n"
    return join(
        heading(1, "Python reference"),
        lead,
        example,
        *parts,
        toctree({name: f"ft.{name}" for name in dir(ftheta)}),
    )


def reference_page(name: str) -> str:
    """The page of a public name: the object itself, then the classes of this package that it returns."""
    found, path = locate(name)
    if isinstance(found, ModuleType):
        return _package_page(name, found)
    returned = _returned_classes(found)
    below = [_directive("autoclass", path, ":no-index:") for path in returned]
    return join(
        heading(1, f"ft.{name}"),
        _directive(_kind(found), path),
        *([heading(2, "What it returns"), *below] if below else []),
    )


def locate(name: str) -> tuple[Any, str]:
    """What a public name stands for, and its path. `ft.theorems` is the function, though a package has that name."""
    home = ftheta._HOME.get(name)
    if isinstance(getattr(ftheta, name), ModuleType) and home is not None:
        return getattr(import_module(home), name), f"{home}.{name}"
    return getattr(ftheta, name), f"ftheta.{name}"


def _package_page(name: str, package: ModuleType) -> str:
    called = CALLED.get(name)
    first = [_directive("autofunction", f"ftheta.{name}.{called}")] if called else []
    others = [other for other in public_names(package) if other != called]
    parts = [
        _directive(_kind(getattr(package, other)), f"ftheta.{name}.{other}") for other in others
    ]
    note = f"Called, `ft.{name}(…)` is the function `ftheta.{name}.{called}`.\n" if called else ""
    about = f"```{{eval-rst}}\n.. automodule:: ftheta.{name}\n   :no-index:\n```\n"
    return join(
        heading(1, f"ft.{name}"), about, note, *first, heading(2, "Names of the package"), *parts
    )


def public_names(package: ModuleType) -> list[str]:
    """Classes and functions that a package offers, in the order of the alphabet."""
    offered = {*vars(package), *getattr(package, "_LATER", ())}
    return sorted(
        name
        for name in offered
        if not name.startswith("_")
        and _is_documented(getattr(package, name))
        and getattr(package, name).__module__.startswith("ftheta.")
    )


def _is_documented(item: Any) -> bool:
    return inspect.isclass(item) or inspect.isfunction(item)


def _kind(item: Any) -> str:
    if inspect.isclass(item):
        return "autoclass"
    return "autofunction" if callable(item) else "autodata"


def _directive(kind: str, path: str, *options: str) -> str:
    given = [":members:", *options] if kind == "autoclass" else options
    lines = "".join(f"\n   {option}" for option in given)
    return f"```{{eval-rst}}\n.. {kind}:: {path}{lines}\n```\n"


def _returned_classes(item: Any) -> list[str]:
    """Classes of this package that a function returns and that have no page of their own."""
    if inspect.isclass(item) or not callable(item):
        return []
    try:
        hint = get_type_hints(inspect.unwrap(item)).get("return")
    except (NameError, TypeError):  # a name that is known to type checkers alone
        return []
    own = {getattr(ftheta, name) for name in dir(ftheta) if inspect.isclass(getattr(ftheta, name))}
    classes = [
        each for each in (hint, *get_args(hint)) if inspect.isclass(each) and each not in own
    ]
    return [
        f"{each.__module__}.{each.__name__}"
        for each in classes
        if each.__module__.startswith("ftheta.")
    ]


def summary_of(name: str) -> str:
    """The first sentence of what a name says of itself."""
    text = " ".join(_first_paragraph(inspect.getdoc(locate(name)[0]) or "").split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def _first_paragraph(text: str) -> str:
    return text.split("\n\n")[0]
