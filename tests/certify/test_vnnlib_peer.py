"""The reader of VNN-LIB against `vnnlib`, the parser of the standard's authors: both see the same formula.

Theirs is asked for its syntax tree and its disjunctive normal form, which are evaluated here in rationals. (Its form
for reachability tools drops strictness and one side of an equality.)
"""

import re
from decimal import Decimal
from fractions import Fraction
from math import prod
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.vnnlib import parse_query, read_query
from ftheta.networks.reading import read_text

from ..thoroughness import max_examples
from .vnncomp import BENCHMARKS
from .vnnlib_texts import formulas, linear_terms, points, polynomial_terms, write

vnnlib: Any = pytest.importorskip("vnnlib")

COMPARISONS = {
    "LessEqual": le,
    "LessThan": lt,
    "GreaterEqual": ge,
    "GreaterThan": gt,
    "Equal": eq,
    "NotEqual": ne,
}
NETWORKS = """(vnnlib-version <2.0>)
(declare-network f (declare-input A real [2,1]) (declare-hidden H real [] "node") (declare-output B real [2]))
(declare-network g (declare-input C real [2,1]) (declare-output D real [2]))
"""
INPUTS = ["A[0,0]", "A[1,0]", "C[0,0]", "C[1,0]"]
OUTPUTS = ["B[0]", "B[1]", "H", "D[0]", "D[1]"]
TERMS = st.one_of(linear_terms(INPUTS + OUTPUTS), polynomial_terms(INPUTS + OUTPUTS))
FORMULAS = formulas(TERMS, ["<=", "<", ">=", ">", "==", "!="], ["and", "or"])


def value_of(node: Any, point: dict[str, Fraction]) -> Any:
    """What a node of their syntax tree is worth at a point."""
    kind = type(node).__name__
    if kind == "Var":
        return point[
            f"{node.name}[{','.join(map(str, node.indices))}]" if node.indices else node.name
        ]
    if hasattr(node, "lexeme"):
        return Fraction(node.lexeme)
    values = [value_of(child, point) for child in node.children()]
    if kind in COMPARISONS:
        return COMPARISONS[kind](*values)
    if kind in ("And", "Or"):
        return all(values) if kind == "And" else any(values)
    if kind == "Multiply":
        return prod(values, start=Fraction(1))
    if kind in ("Negate", "Minus"):
        return -values[0] if kind == "Negate" else values[0] - sum(values[1:])
    assert kind == "Plus"
    return sum(values, Fraction(0))


def with_points(expression: Any) -> Any:
    """Their parser takes numbers with a point and without an exponent, as the grammar has them."""
    if isinstance(expression, Fraction):
        return str(float(expression))
    return expression if isinstance(expression, str) else tuple(map(with_points, expression))


@max_examples(70)
@given(
    st.lists(FORMULAS, min_size=1, max_size=3),
    st.lists(points(INPUTS + OUTPUTS), min_size=6, max_size=6),
)
def test_random_formulas_mean_the_same_to_both(asserted, at):
    text = NETWORKS + "\n".join(f"(assert {write(with_points(formula))})" for formula in asserted)
    theirs = vnnlib.parse_query_string(text)
    ours = parse_query(text)
    for point in at:
        x = [point[name] for name in INPUTS]
        y = [point[name] for name in OUTPUTS]
        truth = all(value_of(assertion.expr, point) for assertion in theirs.assertions)
        in_normal_form = all(
            any(
                all(value_of(atom, point) for atom in conjunction)
                for conjunction in assertion.expr.to_dnf()
            )
            for assertion in theirs.assertions
        )
        assert ours.admits(x, y) == truth == in_normal_form


def test_declarations_are_the_same_to_both():
    text = (
        NETWORKS.replace("(declare-network g", "(declare-network g (isomorphic-to f)")
        + "(assert (<= H 1.0))"
    )
    for network, declared in zip(
        vnnlib.parse_query_string(text).networks, parse_query(text).networks, strict=True
    ):
        assert network.name == declared.name
        assert (network.equal_to, network.isometric_to) == (
            declared.equal_to,
            declared.isomorphic_to,
        )
        for mine, theirs in (
            (declared.inputs, network.inputs),
            (declared.hidden, network.hidden),
            (declared.outputs, network.outputs),
        ):
            assert [(t.name, t.shape) for t in mine] == [(t.name, tuple(t.shape)) for t in theirs]
        assert [f'"{t.node}"' for t in declared.hidden] == [t.onnx_name for t in network.hidden]


def as_version_two(text: str) -> str:
    """A property of version 1.0 in the words of 2.0."""
    text = re.sub(r";[^\n]*", "", text)
    inputs, outputs = (len(re.findall(rf"declare-const {letter}_", text)) for letter in "XY")
    text = re.sub(r"\(declare-const [^()]*\)", "", text)
    text = re.sub(r"\b([XY])_([0-9]+)", r"\1[\2]", text)
    text = re.sub(r"[-0-9.]+e-?[0-9]+", lambda match: format(Decimal(match[0]), "f"), text)
    text = re.sub(r"(?<=[ ])(-?[0-9]+)(?=\))", r"\1.0", text)
    header = (
        f"(declare-network f (declare-input X real [{inputs}]) (declare-output Y real [{outputs}]))"
    )
    return "(vnnlib-version <2.0>)\n" + header + text


def property_files() -> list[Path]:
    """One file of each order of size, of each benchmark of the competition."""
    chosen = dict[tuple[str, int], Path]()
    for path in sorted(BENCHMARKS.glob("*/vnnlib/**/*.vnnlib.gz")):
        chosen.setdefault((str(path.parent), path.stat().st_size.bit_length()), path)
    return list(chosen.values())


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="FTHETA_VNNCOMP names no folder of instances")
@pytest.mark.parametrize("path", property_files(), ids=lambda path: path.name)
def test_properties_of_the_competition_mean_the_same_to_both(path):
    theirs = vnnlib.parse_query_string(as_version_two(read_text(path)))
    query = read_query(path)
    question = query.question()
    rng = np.random.default_rng(0)
    agreed = set[bool]()
    for k in range(12):
        case = question.cases[k % len(question.cases)]
        part = [Fraction(int(n), 8) for n in rng.integers(0, 9, query.inputs)]
        x = [lo + t * (hi - lo) for lo, t, hi in zip(case.box.lo, part, case.box.hi)]
        y = [Fraction(int(n), 4) for n in rng.integers(-9, 9, query.outputs)]
        if k % 4 == 3:
            x[k % len(x)] += Fraction(1, 10**9) + case.box.hi[k % len(x)] - case.box.lo[k % len(x)]
        point = {f"X[{i}]": value for i, value in enumerate(x)} | {
            f"Y[{j}]": value for j, value in enumerate(y)
        }
        truth = all(value_of(assertion.expr, point) for assertion in theirs.assertions)
        agreed.add(truth)
        assert question.admits(x, y) == query.admits(x, y) == truth
    assert False in agreed
