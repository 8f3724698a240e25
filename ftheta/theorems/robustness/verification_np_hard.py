"""Whether a network exceeds a threshold on a box is as hard to decide as whether a formula can be satisfied."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Annotated

import numpy as np

from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.searches import Verification
from ftheta.certify.verification import decide
from ftheta.logic import (
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks import Dense, Description
from ftheta.relu.exact import from_description
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

MOST_VARIABLES = 16
"""The truth table has at most $2^{16}$ rows."""

PATIENCE = 600.0
"""Seconds for one question; all questions here end long before."""

Literal = int
r"""$+i$ for the variable $x_i$, $-i$ for its negation; $i=1,2,\dots$"""


# ---- formulas and their networks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Formula:
    """A conjunction of `clauses`, each a disjunction of literals of distinct variables."""

    variables: int
    clauses: tuple[tuple[Literal, ...], ...]

    def count_satisfied(self, x: np.ndarray) -> np.ndarray:
        """How many clauses each row of truth values satisfies."""
        count = np.zeros(len(x), int)
        for clause in self.clauses:
            count += np.any([x[:, abs(literal) - 1] == (literal > 0) for literal in clause], axis=0)
        return count

    def most_satisfied(self) -> int:
        """By the truth table: the largest number of clauses that one assignment satisfies."""
        table = np.array(list(product((False, True), repeat=self.variables)))
        return int(self.count_satisfied(table).max())

    def occurrences(self) -> int:
        """The largest number of clauses in which one variable occurs."""
        used = [abs(literal) for clause in self.clauses for literal in clause]
        return max(used.count(i) for i in range(1, self.variables + 1))

    def __str__(self) -> str:
        words = [
            " ∨ ".join(f"{'¬' if literal < 0 else ''}x{abs(literal)}" for literal in c)
            for c in self.clauses
        ]
        return " ∧ ".join(f"({clause})" for clause in words)


def compile_formula(formula: Formula, penalty: float) -> Description:
    r"""One hidden layer: a neuron $r(1-\sum\ell)$ for each clause, and $r(x_i)$, $r(2x_i-1)$ for each variable."""
    n = formula.variables
    m = len(formula.clauses)
    W = np.zeros((m + 2 * n, n))
    b = np.zeros(m + 2 * n)
    for k, clause in enumerate(formula.clauses):
        for literal in clause:
            W[k, abs(literal) - 1] = -1.0 if literal > 0 else 1.0
        b[k] = 1.0 - sum(literal < 0 for literal in clause)
    W[m : m + n] = np.eye(n)
    W[m + n :] = 2.0 * np.eye(n)
    b[m + n :] = -1.0
    outer = np.concatenate([np.full(m, -1.0), np.full(n, -penalty), np.full(n, penalty)])
    return Description((Dense(W, b, "relu"), Dense(outer[None], np.array([float(m)]))))


def read_formula(description: Description | None) -> tuple[Formula, float] | str:
    """The formula and the penalty of a compiled network, read off its weights; or why it is none."""
    if description is None or len(description.layers) != 2:
        return "no network with one hidden layer"
    hidden, outer = description.layers
    n = hidden.weight.shape[1]
    m = hidden.weight.shape[0] - 2 * n
    if m < 1 or outer.weight.shape[0] != 1:
        return f"{hidden.weight.shape[0]} neurons for {n} variables and {outer.weight.shape[0]} outputs"
    clauses = tuple(
        tuple((i + 1) if w < 0 else -(i + 1) for i, w in enumerate(row.tolist()) if w)
        for row in hidden.weight[:m]
    )
    formula = Formula(n, clauses)
    penalty = float(outer.weight[0, -1])
    same = all(
        np.array_equal(a.weight, b.weight)
        and np.array_equal(a.bias, b.bias)
        and a.activation == b.activation
        for a, b in zip(compile_formula(formula, penalty).layers, description.layers)
    )
    return (
        (formula, penalty) if same and all(clauses) else "weights that are not those of a formula"
    )


# ---- subjects --------------------------------------------------------------------------------------------------------

ALL_EIGHT = Formula(3, tuple(product((1, -1), (2, -2), (3, -3))))
"""Every assignment of three variables violates exactly one of these clauses."""

TWO_OF_THREE = Formula(3, ((1, 2), (1, 3), (2, 3), (-1, -2), (-1, -3), (-2, -3)))
"""At least two are true, and at least two are false: five of the six clauses at most."""


def draw_formula(rng: np.random.Generator, variables: int, clauses: int, planted: bool) -> Formula:
    """Random clauses of three literals; a planted assignment satisfies all of them."""
    truth = rng.integers(0, 2, variables).astype(bool)
    found: list[tuple[Literal, ...]] = []
    while len(found) < clauses:
        chosen = rng.choice(variables, 3, replace=False)
        signs = rng.integers(0, 2, 3).astype(bool)
        if not planted or np.any(signs == truth[chosen]):
            found.append(
                tuple(int(i + 1) if sign else -int(i + 1) for i, sign in zip(chosen, signs))
            )
    return Formula(variables, tuple(found))


KNOWN = {"all eight clauses": ALL_EIGHT, "two of three": TWO_OF_THREE}


def compiled_formula(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which formula", symbol="φ", choices=("random", "planted", *KNOWN))
    ] = "random",
    variables: Annotated[int, Knob(3, 12, "number of variables", "n", least=3, most=14)] = 8,
    density: Annotated[
        float, Knob(1.0, 8.0, "clauses for each variable", "m/n", least=0.5, most=12.0)
    ] = 4.25,
    margin: Annotated[
        int, Knob(-8, 4, "penalty beyond the occurrences of a variable", "c", least=-64, most=64)
    ] = 0,
) -> Network:
    formula = KNOWN.get(kind) or draw_formula(
        rng, variables, max(1, round(density * variables)), kind == "planted"
    )
    penalty = max(0, formula.occurrences() + margin)
    name = f"{kind} formula, {formula.variables} variables, {len(formula.clauses)} clauses"
    return Network.described(compile_formula(formula, float(penalty)), name)


def without_penalty(rng: np.random.Generator) -> Network:
    """The negative control: nothing keeps the inputs at 0 and 1, and at ½ every clause is satisfied."""
    return Network.described(compile_formula(ALL_EIGHT, 0.0), "all eight clauses, no penalty")


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the network is compiled from a formula in conjunctive normal form",
    remedy="use the built-in subjects",
)
def is_compiled(net: Network) -> Finding:
    found = read_formula(net.description)
    if isinstance(found, str):
        return Finding.failed(f"this one has {found}")
    formula, _ = found
    note = f"{len(formula.clauses)} clauses of {formula.variables} variables"
    return Finding.proved(
        note, "compiled again from what was read, the weights are the same numbers"
    )


@hypothesis(
    "the penalty is at least the number of clauses in which a variable occurs",
    remedy="a larger penalty",
)
def is_penalised_enough(net: Network) -> Finding:
    found = read_formula(net.description)
    if isinstance(found, str):
        return Finding.undecided("the formula")
    formula, penalty = found
    note = f"penalty {penalty:g}, a variable occurs in at most {formula.occurrences()} clauses"
    return Finding.decide(
        penalty >= formula.occurrences(), note, "counted in the formula", basis=Basis.EXACT
    )


@hypothesis(
    f"at most {MOST_VARIABLES} variables",
    remedy="the truth table of a larger formula would not end",
)
def has_few_variables(net: Network) -> Finding:
    n = net.description.layers[0].weight.shape[1] if net.description is not None else 0
    return Finding.decide(
        0 < n <= MOST_VARIABLES, f"{n} variables", "counted", Enclosure.exact(n), basis=Basis.EXACT
    )


@theorem(
    title="Verification of ReLU networks is NP-complete",
    gist="Asking whether a ReLU network exceeds a threshold anywhere in a box is as hard as asking whether a formula "
    "can be satisfied, already with one hidden layer; no complete verifier is known that is fast on all networks.",
    see_also=("linear-relaxation-bounds", "lipschitz-bounds", "regions-shallow"),
    sources=("katz2017", "salzer2021"),
    assumes=(is_compiled, is_penalised_enough, has_few_variables, describes_this_function),
    on=compiled_formula,
    breaks_on=without_penalty,
    audited=False,
    presets={
        "textbook": {},
        "planted": {"kind": "planted"},
        "unsatisfiable": {"kind": "all eight clauses"},
        "at the edge": {"kind": "two of three", "margin": 0},
        "large": {"variables": 12},
        "broken on purpose": {"kind": "all eight clauses", "margin": -4},
    },
)
def verification_np_hard(net: Network, rng: np.random.Generator) -> Evidence:
    r"""For a formula $\varphi$ of $m$ clauses in $x_1,\dots,x_n$, with $x_i\in[0,1]$, literals $\ell=x_i$ or $1-x_i$,
    and $c\ge$ the number of clauses in which a variable occurs, let
    $$f_\varphi(x)=\sum_{k=1}^m\min\Big\{1,\sum_{\ell\in C_k}\ell\Big\}-c\sum_{i=1}^n\min\{x_i,1-x_i\},$$
    a ReLU network with one hidden layer of $m+2n$ neurons. Rounding the inputs to 0 and 1 does not lower $f_\varphi$,
    so $\max_{[0,1]^n}f_\varphi$ is the largest number of clauses that one assignment satisfies: $\varphi$ is
    satisfiable if and only if $f_\varphi\ge m-\frac12$ somewhere in the box. Hence deciding such questions is NP-hard;
    and it is in NP, as the pattern of active neurons at a solution reduces it to a linear program."""
    found = read_formula(net.description)
    if isinstance(found, str):
        return Evidence((), summary=f"no formula: {found}")
    formula, penalty = found
    most = formula.most_satisfied()
    m = len(formula.clauses)
    above = ask(formula, penalty, Fraction(2 * most - 1, 2))
    beyond = ask(formula, penalty, Fraction(2 * most + 1, 2))
    asked = above if most == m else ask(formula, penalty, Fraction(2 * m - 1, 2))
    is_satisfiable = Enclosure.exact(int(most == m))
    return Evidence(
        claims=(
            Identity(
                f"some x has f(x) ≥ {m} − ½ (1: yes) = φ is satisfiable",
                _said(asked),
                is_satisfiable,
            ),
            Identity(f"some x has f(x) ≥ {most} − ½ (1: yes)", _said(above), Enclosure.exact(1)),
            Identity(f"some x has f(x) ≥ {most} + ½ (0: no)", _said(beyond), Enclosure.exact(0)),
        ),
        charts=(_draw_section(net, formula, above),),
        numbers={
            "clauses": Enclosure.exact(m),
            "most clauses satisfied": Enclosure.exact(most),
            "neurons": Enclosure.exact(m + 2 * formula.variables),
        },
        tables=(_tabulate({"f ≥ m − ½": asked, "f ≥ most − ½": above, "f ≥ most + ½": beyond}),),
        summary=f"{most} of {m} clauses can be satisfied at once; f ≥ {m} − ½ in the box: {asked.answer}",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def ask(formula: Formula, penalty: float, level: Fraction) -> Verification:
    r"""Is there an $x\in[0,1]^n$ with $f_\varphi(x)\ge$ `level`? Decided by branch and bound, without the formula."""
    n = formula.variables
    box = Box((Fraction(0),) * n, (Fraction(1),) * n)
    reaches = Row({}, {0: Fraction(-1)}, -level)
    question = Question(n, 1, (Case(box, ((reaches,),)),))
    return decide(from_description(compile_formula(formula, penalty)), question, seconds=PATIENCE)


def _said(found: Verification) -> Enclosure:
    """1 for *sat*, 0 for *unsat*, both possible where it was not decided. A witness is exact, and so is a proof."""
    if found.holds is None:
        return Enclosure.between(0.0, 1.0)
    return Enclosure.exact(0 if found.holds else 1)


def _examples() -> Examples:
    """How the work grows: random formulas of many clauses, which are rarely satisfiable."""
    sizes = tuple(range(4, 13))
    density = 8  # far above 4.27, where random formulas cease to be satisfiable: then all of the box must be searched
    rng = np.random.default_rng(0)
    formulas = [draw_formula(rng, n, density * n, planted=False) for n in sizes]
    answers = [
        ask(f, float(f.occurrences()), Fraction(2 * len(f.clauses) - 1, 2)) for f in formulas
    ]
    right = [
        (a.answer == "sat") == (f.most_satisfied() == len(f.clauses))
        for a, f in zip(answers, formulas)
    ]
    boxes = np.array([answer.subproblems for answer in answers], float)
    work = Series("subproblems", np.array(sizes, float), boxes, "measured")
    table = Series(
        "rows of the truth table", np.array(sizes, float), 2.0 ** np.array(sizes), "reference"
    )
    return Examples(
        claims=(
            Identity(
                f"right answers on {len(sizes)} random formulas",
                Enclosure.exact(sum(right)),
                Enclosure.exact(len(sizes)),
            ),
        ),
        charts=(
            Curves(
                "work grows with the number of variables",
                Axis("n"),
                Axis("count", "log"),
                (work, table),
            ),
        ),
    )


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_section(net: Network, formula: Formula, found: Verification) -> Heatmap:
    """The network in the plane of the first two variables through the point found: peaks at the corners alone."""
    side = np.linspace(0.0, 1.0, 65)
    at = (
        np.ones(formula.variables)
        if found.witness is None
        else np.array([float(v) for v in found.witness.x])
    )
    x = np.tile(at, (len(side), len(side), 1))
    x[..., 0] = side[None, :]
    x[..., 1] = side[:, None]
    f = np.asarray(net(x.reshape(-1, formula.variables))).reshape(len(side), len(side))
    return Heatmap(
        "f through the best point found",
        Axis("x₁"),
        Axis("x₂"),
        f.tolist(),
        (0.0, 1.0, 0.0, 1.0),
        "f",
    )


def _tabulate(answers: dict[str, Verification]) -> Table:
    rows = tuple((what, a.answer, a.method, a.subproblems) for what, a in answers.items())
    return Table(
        "what the verifier was asked", ("question", "answer", "method", "subproblems"), rows
    )
