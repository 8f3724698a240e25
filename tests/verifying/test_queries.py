"""Queries about several networks, hidden nodes and equations: answers against points tried by brute force."""

from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.equalities import solve_equations
from ftheta.certify.joining import draw_inputs, stack_on_one_input, stand_side_by_side
from ftheta.certify.vnnlib import parse_query
from ftheta.certify.vnnlib.queries import Query
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks.onnx.write import write
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from ..thoroughness import max_examples

GRID = [Fraction(k, 4) for k in range(-4, 5)]
HEAD = "(vnnlib-version <2.0>)\n"
TWO = """(declare-network f (declare-input A real [2]) (declare-output B real [2]))
(declare-network g (declare-input C real [1]) (declare-output D real [1]))
"""
BOXES = "".join(f"(assert (and (>= {x} -1.0) (<= {x} 1.0)))\n" for x in ("A[0]", "A[1]", "C[0]"))


def random_network(rng: np.random.Generator, inputs: int, outputs: int, depth: int) -> ReluNetwork:
    """Small integers, so that ties and equations have solutions."""
    widths = [inputs, *rng.integers(2, 5, depth), outputs]
    weights = [rng.integers(-2, 3, (b, a)).astype(float) for a, b in pairwise(widths)]
    return ReluNetwork.dense(weights, [rng.integers(-1, 2, len(W)).astype(float) for W in weights])


def random_term(rng: np.random.Generator) -> str:
    names = ("A[0]", "A[1]", "C[0]", "B[0]", "B[1]", "D[0]")
    first, second = rng.choice(names, 2, replace=False)
    return f"(+ (* {rng.integers(-2, 3)}.0 {first}) (- {second}) {rng.integers(-2, 3) / 2})"


def random_formula(rng: np.random.Generator, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        operator = rng.choice(["<=", "<", ">=", ">", "==", "!="])
        return f"({operator} {random_term(rng)} {rng.integers(-4, 5) / 4})"
    parts = " ".join(random_formula(rng, depth - 1) for _ in range(rng.integers(1, 4)))
    return f"({rng.choice(['and', 'or'])} {parts})"


def outputs_at(nets: list[ReluNetwork], query: Query, x: tuple[Fraction, ...]) -> list[Fraction]:
    """What the networks compute, each on its own inputs."""
    y = list[Fraction]()
    at = 0
    for net, network in zip(nets, query.networks):
        size = sum(tensor.size for tensor in network.inputs)
        y += exact(net)(x[at : at + size])
        at += size
    return y


@given(st.integers(0, 2**32 - 1))
@max_examples(20)
def test_answers_about_two_networks_agree_with_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nets = [random_network(rng, 2, 2, 1), random_network(rng, 1, 1, int(rng.integers(1, 3)))]
    joint = rng.choice(
        ["", "(assert (== C[0] A[1]))\n", "(assert (== (+ C[0] A[1]) (* 2.0 A[0])))\n"]
    )
    query = parse_query(HEAD + TWO + BOXES + joint + f"(assert {random_formula(rng, 2)})")
    result = ft.verify(dict(zip("fg", nets)), query, budget=1, threads=1)
    if result.answer == "sat":
        assert result.witness is not None
        assert query.admits(result.witness.x, outputs_at(nets, query, result.witness.x))
        assert list(result.witness.y) == outputs_at(nets, query, result.witness.x)
    met = any(query.admits(x, outputs_at(nets, query, x)) for x in product(GRID, repeat=3))
    assert not (met and result.answer == "unsat")


def test_equations_between_inputs_are_solved_exactly() -> None:
    text = (
        HEAD
        + TWO
        + BOXES
        + "(assert (== C[0] (+ A[0] 0.1)))\n(assert (== A[1] (* 2.0 A[0])))\n(assert (<= D[0] 1.0))"
    )
    query = parse_query(text)
    solution = solve_equations(query.formula, query.inputs)
    assert solution.kept == (0,) and solution.constants == (Fraction(1, 10),)
    assert solution.lift([Fraction(1, 3)]) == (
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(1, 3) + Fraction(1, 10),
    )
    matrix, offset = solution.matrix()
    assert matrix.toarray().tolist() == [[1, 0], [2, 0], [1, 1]] and not offset.any()


def test_an_equation_whose_solution_floats_cannot_hold_stays_a_row() -> None:
    query = parse_query(
        HEAD + TWO + BOXES + "(assert (== (* 3.0 C[0]) (* 7.0 A[0])))\n(assert (<= D[0] 1.0))"
    )
    assert solve_equations(query.formula, query.inputs).is_trivial


def test_equations_inside_a_disjunction_are_not_taken_for_all() -> None:
    text = HEAD + TWO + BOXES + "(assert (or (== C[0] A[0]) (>= D[0] 1.0)))"
    query = parse_query(text)
    assert solve_equations(query.formula, query.inputs).is_trivial


def test_networks_side_by_side_and_on_one_input_are_what_they_are_alone() -> None:
    rng = np.random.default_rng(0)
    nets = [random_network(rng, 2, 3, depth) for depth in (3, 1, 2)]
    x = [Fraction(1, 3), Fraction(-2, 5)]
    expected = [value for net in nets for value in exact(net)(x)]
    assert list(exact(stand_side_by_side(nets))(x * 3)) == expected
    assert list(exact(stack_on_one_input(nets))(x)) == expected
    shifted = draw_inputs(nets[0], np.array([[1.0, 0.5], [0.0, -1.0]]), np.array([0.0, 0.25]))
    assert exact(shifted)(x) == exact(nets[0])([x[0] + x[1] / 2, Fraction(1, 4) - x[1]])


def write_chain(path: Path) -> ReluNetwork:
    """A chain in a file: x → |x₀| + |x₁|, with its tensors between."""
    net = ReluNetwork.dense(
        [np.vstack([np.eye(2), -np.eye(2)]), np.ones((1, 4))], [np.ones(4), np.zeros(1)]
    )
    write(net, path)
    return net


@pytest.mark.parametrize(
    "row, answer",
    [
        ("(and (<= H[0] 0.25) (>= Z[0] 0.5))", "unsat"),  # H is Z behind a ReLU
        ("(and (<= H[0] 0.25) (<= Z[0] -0.5))", "sat"),
        ("(> Y[0] (+ H[0] H[1] H[2] H[3]))", "unsat"),
        ("(!= Y[0] (+ H[0] H[1] H[2] H[3]))", "unsat"),
        ("(and (== Z[0] 0.125) (== H[2] 0.75))", "unsat"),  # their sum is 2
        ("(and (== Z[0] 0.125) (== H[2] 1.875))", "sat"),
    ],
)
def test_hidden_nodes_are_further_outputs(tmp_path: Path, row: str, answer: str) -> None:
    write_chain(tmp_path / "net.onnx")
    names = tensor_names(tmp_path / "net.onnx")
    text = f"""{HEAD}(declare-network f (declare-input X real [1,2]) (declare-hidden Z real [1,4] "{names["Gemm"]}")
      (declare-hidden H real [1,4] "{names["Relu"]}") (declare-output Y real [1,1]))
      (assert (and (<= X[0,0] 3.0) (>= X[0,0] -3.0) (<= X[0,1] 3.0) (>= X[0,1] -3.0)))
      (assert {row.replace("H[", "H[0,").replace("Z[", "Z[0,").replace("Y[", "Y[0,")})"""
    result = ft.verify(str(tmp_path / "net.onnx"), parse_query(text), budget=10, threads=1)
    assert result.answer == answer
    if result.witness is not None:
        x, y = result.witness.x, result.witness.y
        before = [1 + x[0], 1 + x[1], 1 - x[0], 1 - x[1]]
        after = [max(z, Fraction(0)) for z in before]
        assert list(y) == [sum(after), *before, *after]


def tensor_names(path: Path) -> dict[str, str]:
    """The first tensor that each operator makes; the sum of a product and its bias counts as Gemm."""
    from ftheta.verifying.networks import read_program

    names = dict[str, str]()
    for node in read_program(path).nodes:
        kind = "Gemm" if node.op == "Add" else node.op
        names.setdefault(kind, node.outputs[0])
    return names


def test_wrong_files_and_names_are_said(tmp_path: Path) -> None:
    net = write_chain(tmp_path / "net.onnx")
    path = str(tmp_path / "net.onnx")
    declared = """(declare-network f (declare-input X real [1,2]) (declare-output Y real [1,1]))
      (declare-network g (equal-to f) (declare-input U real [1,2]) (declare-output V real [1,1]))
      """
    bounds = "".join(
        f"(assert (and (<= {x}[0,{i}] 1.0) (>= {x}[0,{i}] 0.0)))" for x in "XU" for i in (0, 1)
    )
    query = parse_query(HEAD + declared + bounds + "(assert (> Y[0,0] V[0,0]))")
    assert ft.verify({"f": path}, query, budget=5).answer == ft.verify(path, query, budget=5).answer
    for networks, said in (
        ({}, "has no file"),
        ({"h": path}, "no network of this name"),
        ({"f": path, "g": path}, "is f"),
    ):
        with pytest.raises(UsageError, match=said):
            ft.verify(networks, query)
    for old, new, said in (
        ("real [1,2])", "real [1,3])", "another shape"),
        ("Y real [1,1]", "Y float32 [1,1]", "float32"),
        (
            "X real [1,2])",
            'X real [1,2]) (declare-hidden H real [1,4] "nowhere")',
            "not in the network's file",
        ),
        ("X real [1,2])", "X real [1,2] initialized)", "initialized"),
    ):
        changed = declared.splitlines()[0].replace(old, new) + bounds.split("(assert (and (<= U")[0]
        with pytest.raises(SubjectError, match=said):
            ft.verify({"f": path}, parse_query(HEAD + changed + "(assert (> Y[0,0] 1.0))"))
    with pytest.raises(SubjectError, match="ONNX"):
        hidden = declared.splitlines()[0].replace(
            "[1,2])", '[1,2]) (declare-hidden H real [1,4] "z")'
        )
        ft.verify({"f": net}, parse_query(HEAD + hidden + bounds.split("(assert (and (<= U")[0]))


ONE_NETWORK = """(declare-network f (declare-input X real [2]) (declare-output Y real [2]))
(assert (and (<= X[0] 1.0) (>= X[0] -1.0) (<= X[1] 1.0) (>= X[1] -1.0)))
"""


@pytest.mark.parametrize(
    "row, answer",
    [
        ("(> (* X[0] X[1]) 1.5)", "unsat"),
        ("(>= (* X[0] X[0]) 1.0)", "sat"),
        ("(< (* X[0] X[0]) -0.001)", "unsat"),
        ("(> (* X[0] X[0] X[1] X[1]) 1.1)", "unsat"),
        ("(> (+ (* X[0] X[0]) (* X[1] X[1])) 1.9)", "sat"),
        ("(> (+ (* X[0] X[0]) (* X[1] X[1]) (* -1.0 X[0] X[1])) 3.1)", "unsat"),  # at most 3
        ("(and (<= X[0] X[1]) (> (* Y[0] (- X[0] X[1])) 0.1))", "unsat"),  # the output is positive
        ("(and (< (* Y[0] Y[1]) 0.5) (> Y[0] 2.0))", "unsat"),  # (1 + |x₀|)(1 + |x₁|) ≥ 1
        ("(> (* Y[0] Y[1]) 3.9)", "sat"),
    ],
)
def test_products_are_decided_over_boxes(row: str, answer: str) -> None:
    """f(x) = (1 + |x₀|, 1 + |x₁|)."""
    weights = [np.vstack([np.eye(2), -np.eye(2)]), np.hstack([np.eye(2), np.eye(2)])]
    net = ReluNetwork.dense(weights, [np.zeros(4), np.ones(2)])
    query = parse_query(HEAD + ONE_NETWORK + f"(assert {row})")
    result = ft.verify(net, query, budget=20, threads=1)
    assert result.answer == answer
    if result.witness is not None:
        assert query.admits(result.witness.x, exact(net)(result.witness.x))


@given(st.integers(0, 2**32 - 1))
@max_examples(25)
def test_answers_about_products_agree_with_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng, 2, 2, 1)
    names = ("X[0]", "X[1]", "Y[0]", "Y[1]", "(+ X[0] Y[1])", "(- 1.0 X[1])")
    terms = [
        f"(* {rng.integers(-2, 3)}.0 {' '.join(rng.choice(names, rng.integers(1, 4)))})"
        for _ in range(2)
    ]
    row = f"({rng.choice(['<', '>=', '>'])} (+ {terms[0]} {terms[1]}) {rng.integers(-9, 10) / 2})"
    equation = rng.choice(["", "(assert (== X[1] (* 0.5 X[0])))"])
    query = parse_query(HEAD + ONE_NETWORK + equation + f"(assert {row})")
    result = ft.verify(net, query, budget=2, threads=1)
    in_rationals = exact(net)
    if result.witness is not None:
        assert query.admits(result.witness.x, in_rationals(result.witness.x))
    met = any(query.admits(x, in_rationals(x)) for x in product(GRID, repeat=2))
    assert not (met and result.answer == "unsat")


def test_products_of_many_inputs_are_refused_with_their_line() -> None:
    net = ReluNetwork.dense([np.ones((1, 20)), np.ones((1, 1))], [np.zeros(1), np.zeros(1)])
    bounds = "".join(f"(assert (and (<= X[{i}] 1.0) (>= X[{i}] 0.0)))\n" for i in range(20))
    declared = "(declare-network f (declare-input X real [20]) (declare-output Y real [1]))\n"
    with pytest.raises(SubjectError, match="Products") as refusal:
        ft.verify(
            net,
            parse_query(
                HEAD + declared + bounds + "(assert (> (* Y[0] X[0]) 99.0))", "mine.vnnlib"
            ),
        )
    assert refusal.value.where == "mine.vnnlib:23:12"


@pytest.mark.parametrize(
    "row", ["(>= X[0] 2.0)", "(>= (+ X[0] X[1]) 2.5)", "(and (< X[0] X[1]) (> X[0] 1.5))"]
)
def test_an_empty_set_of_inputs_is_said(row: str) -> None:
    net = ReluNetwork.dense([np.eye(2), np.eye(2)], [np.zeros(2), np.zeros(2)])
    query = parse_query(HEAD + ONE_NETWORK + f"(assert {row})(assert (>= Y[0] 0.0))")
    result = ft.verify(net, query, threads=1)
    assert result.answer == "unsat" and result.method == "the set of inputs is empty"
