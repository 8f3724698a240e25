"""Boxes are closed only where there is no counter-example, and counter-examples are exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify import boxes
from ftheta.certify.boxes.arrays import allocate, net_arrays, row_arrays
from ftheta.certify.boxes.relaxations import measure_reach, tighten_row
from ftheta.certify.boxes.rows import bound_rows, clip_box, is_excluded, keep_rows, mix_rows
from ftheta.certify.boxes.zonotopes import enclose_box
from ftheta.certify.loading import say_that_it_compiles
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.searches import Verification
from ftheta.certify.verification import decide
from ftheta.logic import Basis, SubjectError
from ftheta.pieces import Box as PieceBox
from ftheta.pieces import pieces
from ftheta.pieces.questions.extremes import extreme
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from ..thoroughness import max_examples

ONE = Fraction(1)


def random_network(rng: np.random.Generator, widths: tuple[int, ...], grid: int = 8) -> ReluNetwork:
    """Weights on a grid, so that ties and zeros are common."""
    draw = lambda *shape: rng.integers(-2 * grid, 2 * grid + 1, shape) / grid
    shapes = list(zip(widths[1:], widths[:-1]))
    return ReluNetwork.dense(
        [draw(*shape) for shape in shapes], [draw(shape[0]) for shape in shapes]
    )


def ask(
    net: ReluNetwork, lo: list, hi: list, unsafe: tuple[tuple[Row, ...], ...], **options: float
) -> Verification:
    box = Box(tuple(map(Fraction, lo)), tuple(map(Fraction, hi)))
    question = Question(net.widths[0], net.widths[-1], (Case(box, unsafe),))
    return decide(
        net, question, seconds=options.get("seconds", 20.0), threads=int(options.get("threads", 1))
    )


def below(bound: Fraction, strict: bool = False) -> tuple[tuple[Row, ...], ...]:
    """The first output is at most the bound."""
    return ((Row({}, {0: ONE}, bound, strict),),)


def exact_minimum(net: ReluNetwork, d: int) -> Fraction:
    """The least first output on [−1, 1]^d: the network in rationals, where the exact pieces say that it is least."""
    cells = pieces(net, PieceBox([-1.0] * d, [1.0] * d))
    assert cells.certificate.basis is Basis.EXACT
    return exact(net)(extreme(cells, 0, -1).point)[0]


WIDTHS = ((2, 5, 1), (2, 4, 4, 1), (3, 5, 3, 1))


@max_examples(25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([10, 20, 40]), st.sampled_from(WIDTHS))
def test_thresholds_beside_the_exact_minimum_are_decided_rightly(
    seed: int, bits: int, widths: tuple[int, ...]
) -> None:
    net = random_network(np.random.default_rng(seed), widths)
    d = widths[0]
    least = exact_minimum(net, d)
    step = Fraction(1, 2**bits)
    under = ask(net, [-1] * d, [1] * d, below(least - step))
    over = ask(net, [-1] * d, [1] * d, below(least + step))
    assert under.answer != "sat" and over.answer != "unsat"
    if bits == 10:
        assert (under.answer, over.answer) == ("unsat", "sat")
    if over.witness is not None:
        assert exact(net)(over.witness.x) == over.witness.y and over.witness.y[0] <= least + step


@max_examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e-9, 1e9, 2.0**-500]))
def test_every_bound_is_below_the_excess_of_every_point(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    widths = (3, 6, 5, 2)
    shapes = list(zip(widths[1:], widths[:-1]))
    net = ReluNetwork.dense(
        [rng.normal(size=s) for s in shapes], [scale * rng.normal(size=s[0]) for s in shapes]
    )
    lo = scale * rng.normal(size=3)
    hi = lo + scale * np.abs(rng.normal(size=3)) * rng.choice([0.0, 1e-6, 0.1, 1.0], 3)
    rational = lambda: Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 10)))
    unsafe = tuple(
        tuple(
            Row({0: rational()}, {0: rational(), 1: rational()}, rational() * Fraction(scale))
            for _ in range(2)
        )
        for _ in range(2)
    )
    arrays = net_arrays(net)
    rows = row_arrays(unsafe, 3, 2)
    zonotope, bounds, scratch = allocate(arrays, rows)
    generators = enclose_box(arrays, lo, hi, np.zeros(len(arrays.biases), np.int8), 0, zonotope)
    assert generators >= 3
    bound_rows(rows, lo, hi, generators, zonotope, bounds)
    for d in range(2):
        mix_rows(rows, d, generators, zonotope, bounds)
    plain = bounds.least.copy()
    measure_reach(arrays, zonotope.lines, lo, hi, scratch)
    for s in range(4):
        tighten_row(arrays, rows, s, lo, hi, zonotope.lines, zonotope.ball, bounds, scratch)
    assert (bounds.least >= plain).all()
    flat = [row for disjunct in unsafe for row in disjunct]
    realisation = exact(net)
    for point in (lo, hi, *(lo + (hi - lo) * rng.uniform(size=(20, 3)))):
        x = [Fraction(float(v)) for v in np.clip(point, lo, hi)]
        y = realisation(x)
        for s, row in enumerate(flat):
            assert row.excess(x, y) >= Fraction(float(bounds.least[s]))
        for d in range(2):
            assert max(row.excess(x, y) for row in unsafe[d]) >= Fraction(
                float(bounds.least[4 + d])
            )


def test_a_planted_counter_example_in_a_slab_is_found() -> None:
    """The output falls below 0 only where |x₀ + x₁ − 1/3| < 2⁻¹², in six inputs."""
    forms = np.zeros((2, 6))
    forms[:, :2] = 1.0
    net = ReluNetwork.dense(
        [np.vstack([forms[0], -forms[1]]), np.ones((1, 2))],
        [np.array([-1 / 3, 1 / 3]), np.array([-(2.0**-12)])],
    )
    found = ask(net, [-1] * 6, [1] * 6, below(Fraction(0), strict=True))
    assert found.witness is not None and exact(net)(found.witness.x)[0] < 0
    assert ask(net, [-1] * 6, [1] * 6, below(-Fraction(2**-11))).answer == "unsat"


@pytest.mark.parametrize("strict", [False, True])
def test_a_tie_is_decided_exactly(strict: bool) -> None:
    """|x| ≥ 0 with equality at 0: at most 0 is met there, below 0 nowhere."""
    net = ReluNetwork.dense(
        [np.array([[1.0], [-1.0]]), np.ones((1, 2))], [np.zeros(2), np.zeros(1)]
    )
    assert ask(net, [-1], [1], below(Fraction(0), strict)).answer == ("unsat" if strict else "sat")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("widths", [(2, 5, 1), (3, 4, 4, 1)])
def test_the_least_output_and_every_number_below_are_decided(
    seed: int, widths: tuple[int, ...]
) -> None:
    net = random_network(np.random.default_rng(seed), widths)
    d = widths[0]
    least = exact_minimum(net, d)
    tie = ask(net, [-1] * d, [1] * d, below(least))
    assert tie.witness is not None and tie.witness.y[0] == least
    assert ask(net, [-1] * d, [1] * d, below(least, strict=True)).answer == "unsat"
    assert ask(net, [-1] * d, [1] * d, below(least - Fraction(1, 2**200))).answer == "unsat"


def test_equations_are_met_exactly_or_nowhere() -> None:
    """x₀ − x₁ = 1/3 and |x₀ + x₁| = 1/7: four rows, and no float meets them."""
    net = ReluNetwork.dense(
        [np.array([[1.0, 1.0], [-1.0, -1.0]]), np.ones((1, 2))], [np.zeros(2), np.zeros(1)]
    )
    third, seventh = Fraction(1, 3), Fraction(1, 7)
    along = {0: ONE, 1: -ONE}
    against = {0: -ONE, 1: ONE}
    rows = lambda height: (
        Row(along, {}, third),
        Row(against, {}, -third),
        Row({}, {0: ONE}, height),
        Row({}, {0: -ONE}, -height),
    )
    found = ask(net, [-1, -1], [1, 1], (rows(seventh),))
    assert found.witness is not None
    x = found.witness.x
    assert x[0] - x[1] == third and abs(x[0] + x[1]) == seventh
    assert ask(net, [-1, -1], [1, 1], (rows(-seventh),)).answer == "unsat"


@max_examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e-9, 1e9]))
def test_bounds_with_fixed_signs_hold_where_neurons_have_them(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    widths = (3, 6, 5, 2)
    shapes = list(zip(widths[1:], widths[:-1]))
    net = ReluNetwork.dense(
        [rng.normal(size=s) for s in shapes], [scale * rng.normal(size=s[0]) for s in shapes]
    )
    lo = scale * rng.normal(size=3)
    hi = lo + scale * np.abs(rng.normal(size=3))
    points = [np.clip(point, lo, hi) for point in lo + (hi - lo) * rng.uniform(size=(40, 3))]
    states = [exact(net).states([Fraction(float(v)) for v in point]) for point in points]
    kept = rng.choice(11, 3, replace=False)
    signs = np.zeros(13, np.int8)
    of_first = np.array([v > 0 for layer in states[0][:2] for v in layer])
    signs[kept] = np.where(of_first[kept], 1, -1)
    unsafe = ((Row({}, {0: ONE}, Fraction(0)), Row({0: ONE}, {1: ONE}, Fraction(0))),)
    arrays = net_arrays(net)
    rows = row_arrays(unsafe, 3, 2)
    zonotope, bounds, scratch = allocate(arrays, rows)
    generators = enclose_box(arrays, lo, hi, signs, 0, zonotope)
    assert generators >= 3  # the first point is in the part
    bound_rows(rows, lo, hi, generators, zonotope, bounds)
    measure_reach(arrays, zonotope.lines, lo, hi, scratch)
    for s in range(2):
        tighten_row(arrays, rows, s, lo, hi, zonotope.lines, zonotope.ball, bounds, scratch)
    mix_rows(rows, 0, generators, zonotope, bounds)
    part_lo = lo.copy()
    part_hi = hi.copy()
    is_cut_away = clip_box(rows, 0, bounds, zonotope.cuts, lo, hi, part_lo, part_hi)
    for point, state in zip(points, states):
        on = np.array([v > 0 for layer in state[:2] for v in layer])
        if not (np.where(on, 1, -1)[kept] == signs[kept]).all():
            continue
        x = [Fraction(float(v)) for v in point]
        excess = [
            row.excess(x, [Fraction(int(v.p), int(v.q)) for v in state[2]]) for row in unsafe[0]
        ]
        for s in range(2):
            assert excess[s] >= Fraction(float(bounds.least[s]))
        meets_all = max(excess) <= 0
        assert not (meets_all and (is_excluded(rows, 0, bounds) or is_cut_away))
        assert not meets_all or ((point >= part_lo) & (point <= part_hi)).all()
        decided = zonotope.lines[0, :11] != 2.0
        assert (on[decided] == (zonotope.lines[0, :11][decided] == 1.0)).all()


@max_examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e-9, 1e9]), st.integers(0, 4))
def test_bounds_with_rows_as_cuts_hold_where_the_rows_do(
    seed: int, scale: float, share: int
) -> None:
    """Each look at a box uses the rows that the last one bounded; a third of the points or so meet both of them."""
    rng = np.random.default_rng(seed)
    widths = (3, 6, 5, 2)
    shapes = list(zip(widths[1:], widths[:-1]))
    net = ReluNetwork.dense(
        [rng.normal(size=s) for s in shapes], [scale * rng.normal(size=s[0]) for s in shapes]
    )
    lo = scale * rng.normal(size=3)
    hi = lo + scale * np.abs(rng.normal(size=3))
    points = [np.clip(point, lo, hi) for point in lo + (hi - lo) * rng.uniform(size=(40, 3))]
    inputs = [[Fraction(float(v)) for v in point] for point in points]
    states = [exact(net).states(x) for x in inputs]
    outputs = [[Fraction(int(v.p), int(v.q)) for v in state[2]] for state in states]
    forms = [({}, {0: ONE}), ({0: ONE}, {1: -ONE})]
    values = [
        [Row(p, q, Fraction(0)).excess(x, y) for x, y in zip(inputs, outputs)] for p, q in forms
    ]
    unsafe = (
        tuple(Row(p, q, sorted(value)[20 + 4 * share]) for (p, q), value in zip(forms, values)),
    )
    arrays = net_arrays(net)
    rows = row_arrays(unsafe, 3, 2)
    zonotope, bounds, scratch = allocate(arrays, rows)
    kept = 0
    for look in range(3):
        generators = enclose_box(arrays, lo, hi, np.zeros(13, np.int8), kept, zonotope)
        assert generators >= 3
        bound_rows(rows, lo, hi, generators, zonotope, bounds)
        measure_reach(arrays, zonotope.lines, lo, hi, scratch)
        for s in range(
            2 if look else 1
        ):  # in the first look one row is a function of all generators
            tighten_row(arrays, rows, s, lo, hi, zonotope.lines, zonotope.ball, bounds, scratch)
        mix_rows(rows, 0, generators, zonotope, bounds)
        part_lo, part_hi = lo.copy(), hi.copy()
        is_cut_away = clip_box(rows, 0, bounds, zonotope.cuts, lo, hi, part_lo, part_hi)
        for point, x, y, state in zip(points, inputs, outputs, states):
            excess = [row.excess(x, y) for row in unsafe[0]]
            if max(excess) > 0:
                continue
            assert all(excess[s] >= Fraction(float(bounds.least[s])) for s in range(2))
            assert not is_excluded(rows, 0, bounds) and not is_cut_away
            assert ((point >= part_lo) & (point <= part_hi)).all()
            on = np.array([v > 0 for layer in state[:2] for v in layer])
            decided = zonotope.lines[0, :11] != 2.0
            assert (on[decided] == (zonotope.lines[0, :11][decided] == 1.0)).all()
        kept = keep_rows(rows, generators, bounds, zonotope.cuts)
        if is_excluded(rows, 0, bounds):
            break
        assert kept == 2


def test_rows_become_cuts_only_where_one_disjunct_is_open() -> None:
    net = random_network(np.random.default_rng(0), (3, 6, 2))
    unsafe = tuple((Row({}, {j: ONE}, Fraction(0)),) for j in range(2))
    arrays = net_arrays(net)
    rows = row_arrays(unsafe, 3, 2)
    zonotope, bounds, _ = allocate(arrays, rows)
    bounds.least[:] = -1.0
    assert keep_rows(rows, 3, bounds, zonotope.cuts) == 0
    bounds.least[0] = 1.0
    bounds.forms[:] = 0.0
    bounds.constants[:] = -1.0
    assert keep_rows(rows, 3, bounds, zonotope.cuts) == 1


@pytest.mark.parametrize("seed", range(4))
def test_one_layer_of_many_inputs_is_decided_beside_its_least_value(seed: int) -> None:
    """A sum of functions of single inputs: its least value is the sum of theirs."""
    rng = np.random.default_rng(seed)
    parts = [random_network(rng, (1, 3, 1)) for _ in range(20)]
    least = sum((exact_minimum(part, 1) for part in parts), Fraction(0))
    first = np.zeros((60, 20))
    for k, part in enumerate(parts):
        first[3 * k : 3 * k + 3, k] = part.steps[0].dense()[:, 0]
    last = np.concatenate([part.steps[1].dense()[0] for part in parts])[None]
    offsets = [
        np.concatenate([part.steps[0].offset for part in parts]),
        sum(part.steps[1].offset for part in parts),
    ]
    net = ReluNetwork.dense([first, last], offsets)
    step = Fraction(1, 2**10)
    assert ask(net, [-1] * 20, [1] * 20, below(least - step)).answer == "unsat"
    over = ask(net, [-1] * 20, [1] * 20, below(least + step))
    assert over.witness is not None and exact(net)(over.witness.x)[0] <= least + step


def test_constants_that_cancel_do_not_hide_a_counter_example() -> None:
    """(2⁵⁶ + x) − 2⁵⁶ is x: in float64 it is 0."""
    big = 2.0**56
    net = ReluNetwork.dense([np.ones((1, 1)), np.ones((1, 1))], [np.array([big]), np.array([-big])])
    answer = ask(net, [0], [1], ((Row({}, {0: -ONE}, -Fraction(1, 2)),),), seconds=2.0).answer
    assert answer != "unsat"


def test_the_answers_of_one_and_of_two_threads_agree() -> None:
    net = random_network(np.random.default_rng(3), (3, 12, 12, 1))
    least = exact_minimum(net, 3)
    for bound, expected in ((least - 1, "unsat"), (least + 1, "sat")):
        assert {ask(net, [-1] * 3, [1] * 3, below(bound), threads=n).answer for n in (1, 2)} == {
            expected
        }


def test_a_budget_that_is_too_small_gives_no_verdict() -> None:
    net = random_network(np.random.default_rng(1), (4, 30, 30, 1), grid=64)
    result = ask(net, [-1] * 4, [1] * 4, below(Fraction(0)), seconds=1e-9)
    assert result.answer == "timeout" and result.open > 0 and result.holds is None


@pytest.mark.parametrize("widths", [(6, 20, 20, 1), (24, 16, 16, 1)])
def test_what_is_not_decided_in_time_has_an_enclosure(widths: tuple[int, ...]) -> None:
    """By boxes and by neurons: below the excess of every point, and finite."""
    rng = np.random.default_rng(0)
    net = random_network(rng, widths)
    d = widths[0]
    points = rng.uniform(-1, 1, (2000, d))
    bound = Fraction(float(net(points).min())) - 4
    found = ask(net, [-1] * d, [1] * d, below(bound), seconds=0.01)
    if found.answer in ("sat", "unsat"):
        assert found.least == -np.inf
    else:
        assert -np.inf < found.least <= 4.0


@pytest.mark.parametrize("step, answer", [(-1, "unsat"), (0, "sat"), (1, "sat")])
def test_small_networks_are_decided_before_anything_is_compiled(
    monkeypatch, step: int, answer: str
) -> None:
    """|x| + |y| on a square, beside its least value 0."""
    monkeypatch.setattr(boxes, "is_at_hand", lambda _: False)
    monkeypatch.setattr(boxes.InputSearch, "compile", lambda _: pytest.fail("compiled"))
    net = ReluNetwork.dense(
        [np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.ones((1, 4))],
        [np.zeros(4), np.zeros(1)],
    )
    assert ask(net, [-1, -1], [1, 1], below(Fraction(step, 2**20))).answer == answer


def test_compiling_is_said_on_a_terminal_alone(monkeypatch, capsys) -> None:
    say_that_it_compiles("kernels")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say_that_it_compiles("kernels")
    assert "compiling kernels" in capsys.readouterr().err


def test_a_question_about_another_network_is_refused() -> None:
    net = random_network(np.random.default_rng(0), (2, 3, 1))
    with pytest.raises(SubjectError, match="another network"):
        decide(net, Question(3, 1, ()))


def test_numbers_beyond_the_range_of_floats_close_nothing() -> None:
    net = ReluNetwork.dense(
        [np.full((2, 1), 1e200), np.full((1, 2), 1e200)], [np.zeros(2), np.zeros(1)]
    )
    assert ask(net, [-1], [1], below(Fraction(-1)), seconds=1.0).answer != "sat"
    assert (
        ask(net, [-1], [1], ((Row({}, {0: -ONE}, Fraction(-1)),),), seconds=1.0).answer != "unsat"
    )
