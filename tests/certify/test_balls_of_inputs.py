"""Questions about balls in ℓ1 and ℓ2: dual norms, programs of other solvers, brute force, exact distances."""

from fractions import Fraction
from math import inf

import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import ftheta as ft
from ftheta.certify.ball_parts import FloatBall
from ftheta.certify.judging import Judge
from ftheta.certify.neurons.search import search_neurons
from ftheta.certify.programs.judging import EnclosingJudge
from ftheta.certify.programs.network import TracedNetwork
from ftheta.certify.programs.ranges import RangeSearch
from ftheta.certify.properties import Robust
from ftheta.certify.questions import Box, Case, Question, RationalBall, Row
from ftheta.certify.verification import decide
from ftheta.logic.errors import UsageError
from ftheta.relu.exact import exact
from ftheta.relu.nearest_points import find_nearest_point
from ftheta.relu.network import ReluNetwork
from tests.thoroughness import max_examples

ONE = Fraction(1)
NORMS = (1, 2)


# ---- the part of a box in a ball -------------------------------------------------------------------------------------


def draw_part(rng: np.random.Generator) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """A ball and a box that may cut it, hold it, or miss its centre."""
    n = int(rng.integers(1, 6))
    centre = rng.normal(size=n)
    radius = float(rng.uniform(0.2, 2))
    low = centre + rng.normal(size=n) - rng.uniform(0, 1, n) * radius
    return centre, radius, low, low + rng.uniform(0, 2, n) * radius


def minimum_by_programs(
    a: np.ndarray, centre: np.ndarray, radius: float, low: np.ndarray, high: np.ndarray, norm: int
):
    """The least value of a linear function: by HiGHS in ℓ1, by SLSQP in ℓ2 (from above)."""
    n = len(a)
    if norm == 1:
        eye = np.eye(n)
        A = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]])
        found = linprog(
            np.r_[a, np.zeros(n)],
            A_ub=A,
            b_ub=np.r_[centre, -centre, radius],
            bounds=[*zip(low, high)] + [(0, None)] * n,
        )
        return found.fun
    apart = {
        "type": "ineq",
        "fun": lambda x: radius**2 - ((x - centre) ** 2).sum(),
        "jac": lambda x: -2 * (x - centre),
    }
    start = np.clip(centre, low, high)
    sides = list(zip(low, high))
    return minimize(
        lambda x: a @ x,
        start,
        jac=lambda x: a,
        bounds=sides,
        constraints=[apart],
        options={"ftol": 1e-14, "maxiter": 300},
    ).fun


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(12))
def test_bounds_over_a_part_of_a_ball_are_the_minima(norm, seed):
    rng = np.random.default_rng(seed)
    centre, radius, low, high = draw_part(rng)
    ball = FloatBall(centre, radius, norm)
    is_empty = np.linalg.norm(np.clip(centre, low, high) - centre, norm) > radius
    tight_low, tight_high, shown_empty = ball.shrink(low[None], high[None])
    assert bool(shown_empty[0]) == is_empty
    if is_empty:
        return
    a = rng.normal(size=(3, len(centre)))
    bound = np.minimum(a * low, a * high).sum(1) + ball.gain(a, low, high)
    least = np.array([minimum_by_programs(row, centre, radius, low, high, norm) for row in a])
    np.testing.assert_allclose(bound, least, atol=3e-6)
    assert np.all(bound <= least + 1e-9)
    points = ball.project(rng.normal(size=(40, len(centre))) * 2 + centre, low, high)
    assert np.all(np.linalg.norm(points - centre, norm, axis=1) <= radius * (1 + 1e-9))
    assert np.all((tight_low <= points + 1e-12) & (points - 1e-12 <= tight_high))
    lowest = ball.find_lowest(a, low, high)
    if norm == 2:
        np.testing.assert_allclose((a * lowest).sum(1), least, atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_bounds_are_rounded_down(norm):
    """In rationals, at the very point of the ball where a function is least."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        a = rng.integers(-9, 10, 5).astype(float)
        radius = 1.0
        centre = rng.normal(size=5)
        bound = FloatBall(centre, radius, norm).gain(a[None], centre - 1, centre + 1)[0]
        low, high = centre - 1, centre + 1
        over_box = sum(
            min(Fraction(v) * Fraction(p), Fraction(v) * Fraction(q))
            for v, p, q in zip(a, low, high)
        )
        middle = sum(Fraction(v) * Fraction(c) for v, c in zip(a, centre))
        if norm == 1:
            assert Fraction(bound) + over_box <= middle - max(abs(Fraction(v)) for v in a)
        else:  # ‖a‖₂ is the root of a whole number
            rest = middle - over_box - Fraction(bound)
            assert rest >= 0 and rest**2 >= sum(Fraction(v) ** 2 for v in a)


@max_examples(40)
@given(st.data())
def test_the_nearest_point_of_a_polyhedron_meets_the_conditions_of_optimality(data):
    n = data.draw(st.integers(1, 3))
    entry = st.integers(-3, 3)
    rows = data.draw(
        st.lists(st.lists(entry, min_size=n + 1, max_size=n + 1), min_size=1, max_size=7)
    )
    centre = data.draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    found = find_nearest_point([tuple(map(fmpq, row)) for row in rows], tuple(map(fmpq, centre)))
    A = np.array(rows, float)
    feasible = linprog(np.zeros(n), A_ub=-A[:, :-1], b_ub=A[:, -1], bounds=[(None, None)] * n)
    assert (found is None) == (feasible.status == 2)
    if found is None:
        return
    x = np.array([float(Fraction(int(v.p), int(v.q))) for v in found])
    values = A[:, :-1] @ x + A[:, -1]
    assert np.all(values >= -1e-12)
    # x − c is a combination of normals of forms that are zero there, with multipliers that are not negative
    active = A[np.abs(values) < 1e-12, :-1]
    step = x - np.array(centre)
    combination = linprog(np.zeros(len(active)), A_eq=active.T, b_eq=step) if len(active) else None
    assert np.abs(step).max() < 1e-12 if combination is None else combination.status == 0


# ---- linear classifiers: the radius is the margin over the dual norm -------------------------------------------------


@pytest.mark.parametrize(
    "norm, radius", [(2, Fraction(7, 5)), (1, Fraction(7, 4)), (inf, Fraction(1))]
)
@pytest.mark.parametrize("inputs", [2, 20])
def test_the_radius_of_a_linear_classifier_is_its_margin_over_the_dual_norm(norm, radius, inputs):
    """3x + 4y at (1, 1): 7/5, 7/4 and 1, a tie at each. Above sixteen inputs, signs of neurons are fixed instead."""
    weights = np.zeros((2, inputs))
    weights[0, :2] = 3, 4
    x = np.r_[1.0, 1.0, np.zeros(inputs - 2)]
    layers = (
        [weights]
        if inputs == 2
        else [np.vstack([weights[0], -weights[0]]), np.array([[1.0, -1.0], [0.0, 0.0]])]
    )
    net = ReluNetwork.dense(layers, [np.zeros(len(layer)) for layer in layers])
    step = Fraction(1, 10**9)

    def ask(eps: Fraction):
        return decide(net, Robust(x, eps, norm, label=0).question(2), seconds=20)

    assert ask(radius - step).answer == "unsat"
    for eps in (radius, radius + step):
        found = ask(eps)
        assert found.answer == "sat"
        moved = [v - Fraction(c) for v, c in zip(found.witness.x, x)]
        length = max(map(abs, moved)) if norm == inf else sum(abs(d) ** norm for d in moved)
        assert length <= (eps if norm == inf else eps**norm)
        assert found.witness.y[0] <= found.witness.y[1]


# ---- small networks, by brute force ----------------------------------------------------------------------------------


def draw_network(rng: np.random.Generator, *widths: int) -> ReluNetwork:
    shapes = list(zip(widths[1:], widths[:-1]))
    return ReluNetwork.dense(
        [rng.normal(size=s) for s in shapes], [rng.normal(size=s[0]) for s in shapes]
    )


def sample_disc(radius: float, norm: int) -> np.ndarray:
    """Points of a ball in the plane, its surface included."""
    angle = np.linspace(0, 2 * np.pi, 721)
    direction = np.stack([np.cos(angle), np.sin(angle)], 1)
    direction /= np.linalg.norm(direction, norm, axis=1, keepdims=True)
    return np.concatenate([radius * share * direction for share in np.linspace(0, 1, 60)])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(6))
def test_answers_about_small_networks_are_those_of_brute_force(norm, seed):
    rng = np.random.default_rng(seed)
    net = draw_network(rng, 2, 5, 4, 2)
    x = rng.normal(size=2)
    around = x + sample_disc(1.0, norm)
    y = net(np.concatenate([x[None], around]))
    label = int(y[0].argmax())
    flips = y[1:, 1 - label] >= y[1:, label]
    distance = np.linalg.norm(around - x, norm, axis=1)
    nearest = distance[flips].min(initial=np.inf)
    for eps in (0.9 * min(nearest, 1.0), min(1.05 * nearest, 1.0)):
        question = Robust(x, eps, norm, label).question(2)
        found = decide(net, question, seconds=20)
        assert found.answer == ("sat" if eps >= nearest else "unsat")
        case = question.cases[0]
        judge = Judge(net, case)
        by_neurons = search_neurons(net, case, seconds=20, propose=judge.propose)
        assert by_neurons.closed == (found.answer == "unsat")
        if found.witness is not None:
            assert case.ball is not None and case.ball.contains(found.witness.x)
            assert exact(net)(found.witness.x) == found.witness.y


@pytest.mark.parametrize("norm", NORMS)
def test_ties_at_the_surface_of_a_ball_are_decided(norm):
    """|x| + |y| + |z| ≤ 3/2 holds in the ball of radius 3/2 in ℓ1 with equality; in ℓ2 at (½, ½, ½), √3/2 away."""
    eye = np.eye(3)
    net = ReluNetwork.dense([np.vstack([eye, -eye]), -np.ones((1, 6))], [np.zeros(6), np.zeros(1)])
    box = Box((-2 * ONE,) * 3, (2 * ONE,) * 3)
    zero = (Fraction(0),) * 3
    radius = Fraction(3, 2)
    for bound, strict, answer in (
        (radius, False, "sat"),
        (radius, True, "unsat"),
        (radius + 1, False, "unsat"),
    ):
        rows = ((Row({}, {0: ONE}, -bound, strict),),)
        reach = radius if norm == 1 else Fraction(3, 4)
        ball = RationalBall(zero, reach, norm)
        if norm == 2:  # 3/4 < √3/2: a ball that touches a smaller octahedron at no rational point
            rows = ((Row({}, {0: ONE}, -bound * Fraction(87, 100), strict),),)
            answer = "unsat"
        assert decide(net, ask_about(net, Case(box, rows, ball)), seconds=20).answer == answer


def ask_about(net, case: Case) -> Question:
    return Question(net.widths[0], net.widths[-1], (case,))


# ---- networks of any operators ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_programs_are_searched_in_the_ball(norm):
    """The sine of a linear form: its largest value over a ball is known by the dual norm."""
    weights = jnp.array([0.6, 0.8, 0.0])
    net = TracedNetwork(ft.Network.of(lambda x: jnp.stack([jnp.sin(weights @ x)]), example=(3,)))
    steepest = 1.0 if norm == 2 else 0.8
    for share, answer in ((0.999, "unsat"), (1.001, "sat")):
        radius = Fraction(1, 2) * Fraction(share)
        above = Row({}, {0: -ONE}, -Fraction(float(np.sin(0.5 * steepest))))
        case = Case(
            Box((-ONE,) * 3, (ONE,) * 3),
            ((above,),),
            RationalBall((Fraction(0),) * 3, radius, norm),
        )
        found = decide(net, ask_about(net, case), seconds=20)
        assert found.answer == answer
        assert found.witness is None or case.contains(found.witness.x)
        judge = EnclosingJudge(net, case)
        assert RangeSearch(net, case, 10, judge.propose).run().closed == (answer == "unsat")


def test_a_ball_outside_of_clip_is_an_error():
    with pytest.raises(UsageError, match="empty"):
        ft.Robust([2.0, 2.0], 1.2, norm=2, clip=(0, 1))
    assert (
        ft.Robust([2.0, 2.0], 1.5, norm=2, label=0, clip=(0, 1)).question(2).cases[0].ball
        is not None
    )
