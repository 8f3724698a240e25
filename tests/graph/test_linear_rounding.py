"""Every rounding is paid for by itself: coefficients, offsets and forms against the same sums in rationals.

Tests of whole programs have slack from many sources, so that one error that is not paid hides behind the others. Here
each relaxation is asked for functionals with coefficients of all sizes; what rational arithmetic makes of its planes
may differ by the error that it states, at the worst point of the box, and no more.
"""

from collections.abc import Sequence
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ftheta.graph import Interval, trace
from ftheta.graph.domains.linear import BallSet, BoxSet, PolytopeSet, Program
from ftheta.graph.domains.linear.backward import Relaxed
from ftheta.graph.domains.linear.forward import Forward, Sides
from ftheta.graph.domains.linear.maps import Weights
from ftheta.graph.domains.linear.products import Contraction
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.relaxations import Relaxation
from ftheta.graph.domains.linear.rounding import least_over, pay
from ftheta.graph.domains.linear.slopes import _tilted_form
from ftheta.graph.graph import Slot

from .zoo import draws

W, V = draws(5, 4, seed=1), draws(4, 5, seed=2)
KERNEL = draws(2, 1, 2, 2, seed=3)

PROGRAMS = {
    "two maps": lambda x: V @ (W @ x),
    "sums and differences": lambda x: (x + x[::-1]) - jnp.cumsum(W[0] * x),
    "convolution": lambda x: lax.conv_general_dilated(
        x.reshape(1, 1, 2, 2), jnp.asarray(KERNEL), (1, 1), "SAME"
    ).sum(1),
    "constants known up to an interval": lambda x: jnp.exp(W[0]) * x / jnp.sqrt(jnp.abs(W[1])),
    "lines": lambda x: jnp.tanh(W @ x) - jax.nn.relu(W @ x),
    "products": lambda x: (W @ x) * (V.T @ x),
    "a product with one number": lambda x: (W @ x) * x[0],
    "products of matrices": lambda x: (W @ x).reshape(5, 1) @ x.reshape(1, 4),
    "sums of products": lambda x: x.reshape(2, 2) @ jnp.tanh(x).reshape(2, 2),
    "log-sum-exp": lambda x: jax.nn.logsumexp((W @ x).reshape(5, 1) + x, axis=1),
    "softmax": lambda x: jax.nn.softmax(W @ x),
    "a choice": lambda x: jnp.where(x > 0.1, W[0] * x, x[0]),
}


def exact(x) -> Fraction:
    return Fraction(float(x))


def relaxed_over(f, boxes: int = 1) -> tuple[Relaxed, list[BoxSet]]:
    program = Program.of(trace(f, np.zeros(4), fold_rounded=False))
    x = draws(boxes, 4, seed=8)
    sets = [BoxSet(Interval(x - 0.4, x + 0.3))]
    return enclose(program, sets), sets


def of_any_size(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-6, 6, shape)


def varying_slots(relaxed: Relaxed) -> Sequence[Slot]:
    program = relaxed.program
    made = [
        slot
        for slot in program.graph.slots
        if slot.id in program.varying and slot.id in program.output_of
    ]
    return [slot for slot in made if slot.is_real]


def planes_of(
    relaxation: Relaxation, slot: Slot
) -> list[list[tuple[list[np.ndarray | None], Fraction]]]:
    """For either sign, and for each entry, the coefficients of the operands and the offset: one functional of one entry
    is not rounded."""
    sides = []
    for sign in (1.0, -1.0):
        found = []
        for j in range(slot.size):
            A = np.zeros((1, 1, slot.size))
            A[0, 0, j] = sign
            pulled = relaxation.pull(A.reshape(1, 1, *slot.shape))
            parts = [None if part is None else part[0, 0].ravel() for part in pulled.coefficients]
            found.append((parts, exact(np.broadcast_to(pulled.offset, (1, 1))[0, 0])))
        sides.append(found)
    return sides


def unpaid(relaxed: Relaxed, slot: Slot, A: np.ndarray) -> Fraction:
    """By how much the functional A of a slot exceeds what rational arithmetic makes of the planes, after its error."""
    relaxation = relaxed.relaxation(slot)
    planes = planes_of(relaxation, slot)
    pulled = relaxation.pull(A.reshape(1, 1, *slot.shape))
    chosen = [(abs(exact(a)), planes[0 if a > 0 else 1][j]) for j, a in enumerate(A.ravel()) if a]
    over = exact(np.broadcast_to(pulled.offset, (1, 1))[0, 0]) - sum(
        (w * c for w, (_, c) in chosen), Fraction(0)
    )
    for k, (operand, part) in enumerate(zip(relaxation.operands, pulled.coefficients)):
        if part is None:
            continue
        magnitude = relaxed.enclosures[operand.id].magnitude[0].ravel()
        for i, (value, size) in enumerate(zip(part[0, 0].ravel(), magnitude)):
            terms = ((w, parts[k]) for w, (parts, _) in chosen)
            truth = sum((w * exact(p[i]) for w, p in terms if p is not None), Fraction(0))
            over += abs(exact(value) - truth) * exact(size)
    return over - exact(np.broadcast_to(pay(np.asarray(pulled.error)), (1, 1))[0, 0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_pulled_coefficients_differ_from_exact_ones_by_what_is_paid(name):
    relaxed, _ = relaxed_over(PROGRAMS[name])
    rng = np.random.default_rng(0)
    for slot in varying_slots(relaxed):
        for _ in range(4):
            assert unpaid(relaxed, slot, of_any_size(rng, slot.size)) <= 0, str(slot)


def test_offsets_of_sums_of_products_are_below_and_above_their_exact_sums():
    relaxed, _ = relaxed_over(PROGRAMS["sums of products"])
    (found,) = [
        r for r in map(relaxed.relaxation, varying_slots(relaxed)) if isinstance(r, Contraction)
    ]
    scales = 10.0 ** np.random.default_rng(0).uniform(-8, 8, found.below[2].shape)
    below, above = (
        np.abs(planes[2]) * scales * np.sign(planes[2] - 0.1)
        for planes in (found.below, found.above)
    )
    spread = Contraction(
        found.operands,
        found.layouts,
        (*found.below[:2], below),
        (*found.above[:2], above),
        found.magnitudes,
    )
    for computed, offsets, sign in (
        (spread._offsets[0], below, 1),
        (spread._offsets[1], above, -1),
    ):
        for place in np.ndindex(computed.shape):
            box, stack, row, column = place
            truth = sum((exact(v) for v in offsets[box, stack, row, :, column]), Fraction(0))
            assert sign * exact(computed[place]) <= sign * truth


@pytest.mark.parametrize("name", PROGRAMS)
def test_forms_carried_forward_differ_from_exact_ones_by_what_is_paid(name):
    relaxed, sets = relaxed_over(PROGRAMS[name])
    forward = Forward(relaxed, sets)
    size = sets[0].hull.magnitude[0].ravel()
    for slot in varying_slots(relaxed):
        relaxation = relaxed.relaxation(slot)
        planes = planes_of(relaxation, slot)
        made = forward._make(slot)
        operands = [forward._of_operand(operand) for operand in relaxation.operands]
        doubts = _doubts(relaxed, relaxation, slot)
        for half in (0, 1):
            for j in range(slot.size):
                slopes, offset, error = _compose(planes[half][j], operands, size)
                at = half * slot.size + j
                over = sum(
                    (
                        abs(exact(v) - t) * exact(m)
                        for v, t, m in zip(made.slopes[0, at], slopes, size)
                    ),
                    Fraction(0),
                )
                over += exact(made.offset[0, at]) - offset + error + doubts[j]
                assert over <= exact(pay(made.error[:, at])[0]), str(slot)


def _doubts(relaxed: Relaxed, relaxation: Relaxation, slot: Slot) -> list[Fraction]:
    """What constants that are known up to an interval can make of each entry, less a share for rounding up."""
    total = np.zeros(slot.size)
    for operand, linear in zip(relaxation.operands, getattr(relaxation, "maps", ())):
        if linear.doubt is not None:
            found = linear.doubt(relaxed.enclosures[operand.id].magnitude)
            total = total + np.broadcast_to(found, (1, *slot.shape)).ravel()
    return [exact(v) * Fraction(99, 100) for v in total]


def _compose(
    plane: tuple[list[np.ndarray | None], Fraction], operands: Sequence[Sides], size: np.ndarray
) -> tuple[list[Fraction], Fraction, Fraction]:
    """A plane in operands that have forms, in rationals: slopes, offset, and the errors of these forms."""
    slopes = [Fraction(0)] * len(size)
    offset = plane[1]
    error = Fraction(0)
    for part, sides in zip(plane[0], operands):
        if part is None:
            continue
        count = len(part)
        for i, p in enumerate(part):
            side = i if p > 0 else count + i
            weight = abs(exact(p))
            if weight:
                slopes = [a + weight * exact(s) for a, s in zip(slopes, sides.slopes[0, side])]
                offset += weight * exact(sides.offset[0, side])
                error += weight * exact(sides.error[0, side])
    return slopes, offset, error


def test_forms_of_constants_are_their_ends():
    relaxed, sets = relaxed_over(lambda x: x + jnp.exp(W[0]))
    unsure = [number for number, x in relaxed.program.constants.items() if np.any(x.lo < x.hi)]
    assert unsure
    for number in unsure:
        slot = relaxed.program.graph.slots[number]
        x = relaxed.enclosures[number]
        sides = Forward(relaxed, sets)._of_operand(slot)
        assert np.all(sides.offset[0, : slot.size] <= x.lo.ravel())
        assert np.all(sides.offset[0, slot.size :] <= -x.hi.ravel())


# ---- sums ---------------------------------------------------------------------------------------------------------


def test_the_least_value_over_a_box_pays_for_its_sum():
    rng = np.random.default_rng(1)
    for _ in range(200):
        A, lo = of_any_size(rng, 1, 2, 6), of_any_size(rng, 1, 6)
        hi = lo + np.abs(of_any_size(rng, 1, 6))
        value, error = least_over(A, lo, hi)
        for s in range(2):
            ends = zip(A[0, s], lo[0], hi[0])
            truth = sum((exact(a) * exact(u if a > 0 else v) for a, u, v in ends), Fraction(0))
            assert exact(value[0, s]) - exact(pay(error[:, s])[0]) <= truth


@pytest.mark.parametrize("norm", [1, 2])
def test_the_least_value_over_a_ball_pays_for_its_sum(norm):
    rng = np.random.default_rng(2)
    for _ in range(100):
        A, centre, radius = (
            of_any_size(rng, 1, 1, 5),
            of_any_size(rng, 1, 5),
            np.abs(of_any_size(rng, 1)),
        )
        value, error = BallSet(centre, radius, norm).least(A)
        middle = sum((exact(a) * exact(c) for a, c in zip(A[0, 0], centre[0])), Fraction(0))
        # at least radius · dual norm
        gap = middle - (exact(value[0, 0]) - exact(pay(error[:, 0])[0]))
        reach = exact(radius[0])
        if norm == 1:
            assert gap >= reach * max(abs(exact(a)) for a in A[0, 0])
        else:
            assert gap >= 0 and gap**2 >= reach**2 * sum(
                (exact(a) ** 2 for a in A[0, 0]), Fraction(0)
            )


def test_the_least_value_over_a_polytope_pays_for_its_multipliers():
    """At corners of the box, and where rows hold with equality, inside of the polytope."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        A, rows = of_any_size(rng, 1, 1, 2), of_any_size(rng, 2, 2)
        lo = of_any_size(rng, 1, 2)
        hi = lo + np.abs(of_any_size(rng, 1, 2))
        inner = lo / 2 + hi / 2
        limits = (rows @ inner[0]) + np.abs(rows @ inner[0]) * 1e-3
        value, error = PolytopeSet(BoxSet(Interval(lo, hi)), rows, limits).least(A)
        bound = exact(value[0, 0]) - exact(pay(error[:, 0])[0])
        grid = [
            [
                exact(lo[0, k]) + (exact(hi[0, k]) - exact(lo[0, k])) * Fraction(t, 8)
                for t in range(9)
            ]
            for k in (0, 1)
        ]
        for x in ((a, b) for a in grid[0] for b in grid[1]):
            inside = all(
                exact(r[0]) * x[0] + exact(r[1]) * x[1] <= exact(h) for r, h in zip(rows, limits)
            )
            if inside:
                assert bound <= exact(A[0, 0, 0]) * x[0] + exact(A[0, 0, 1]) * x[1]


def take_off(y, count: int):
    """One, so many times, each a constant of its own."""
    for _ in range(count):
        y = y + np.full(4, -1.0)
    return y


@pytest.mark.parametrize(
    "f", [lambda x: take_off(x + 2.0**54, 60), lambda x: take_off(x, 60) + 2.0**54]
)
def test_offsets_that_are_lost_in_a_large_one_are_paid_for(f):
    """2⁵⁴ − 1 − 1 − …, from either end: in floats nothing is taken off, which a lower bound must not forget."""
    relaxed, sets = relaxed_over(f)
    (slot,) = relaxed.program.graph.outputs
    seeds = np.eye(4)[None]
    least = relaxed.pull_back({slot.id: seeds}).least(sets)[0]
    carried = Forward(relaxed, sets).of_entries(slot)[0].least(sets)[0]
    for k in range(4):
        truth = exact(sets[0].hull.lo[0, k]) + 2**54 - 60
        assert exact(least[k]) <= truth and exact(carried[k]) <= truth


def test_multipliers_that_join_coefficients_are_paid_for():
    relaxed, sets = relaxed_over(lambda x: x + 0.0)
    (entry,) = relaxed.program.graph.inputs
    rng = np.random.default_rng(5)
    size = sets[0].hull.magnitude[0]
    for _ in range(20):
        A, m = of_any_size(rng, 1, 1, 4), of_any_size(rng, 1, 1, 4)
        form = _tilted_form(relaxed, {entry.id: A}, {}, {entry.id: m}, {})
        (found,) = form.coefficients
        assert found is not None
        off = [
            abs(exact(c) - exact(a) - exact(b)) for c, a, b in zip(found[0, 0], A[0, 0], m[0, 0])
        ]
        ends = zip(m[0, 0], sets[0].hull.lo[0], sets[0].hull.hi[0])
        most = sum((max(exact(t) * exact(a), exact(t) * exact(b)) for t, a, b in ends), Fraction(0))
        over = (
            sum((d * exact(v) for d, v in zip(off, size)), Fraction(0))
            + exact(form.offset[0, 0])
            + most
        )
        assert over <= exact(form.paid_error[0, 0])


def test_constants_known_up_to_an_interval_are_covered_and_paid_for():
    rng = np.random.default_rng(6)
    lo = rng.standard_normal(50)
    hi = np.where(
        rng.random(50) < 0.5,
        lo,
        lo + np.abs(rng.standard_normal(50)) * 10.0 ** rng.uniform(-16, 0, 50),
    )
    weights = Weights.of(Interval(lo, hi))
    assert weights.radius is not None
    for a, b, middle, radius in zip(lo, hi, weights.middle, weights.radius):
        assert exact(middle) - exact(radius) <= exact(a) and exact(b) <= exact(middle) + exact(
            radius
        )
    relaxed, _ = relaxed_over(lambda x: jnp.exp(W[0]) * x)
    (slot,) = relaxed.program.graph.outputs
    relaxation = relaxed.relaxation(slot)
    A = rng.standard_normal((1, 1, 4))
    error = exact(np.broadcast_to(relaxation.pull(A).error, (1, 1))[0, 0])
    (factor,) = [
        x for x in relaxed.program.constants.values() if x.shape == (4,) and np.any(x.lo < x.hi)
    ]
    magnitude = relaxed.enclosures[relaxation.operands[0].id].magnitude[0]
    reach = sum(
        (
            abs(exact(a)) * (exact(v) - exact(u)) / 2 * exact(m)
            for a, u, v, m in zip(A[0, 0], factor.lo, factor.hi, magnitude)
        ),
        Fraction(0),
    )
    pulled = relaxation.pull(A).coefficients[0]
    assert pulled is not None and error >= reach


def test_coefficients_that_are_joined_are_paid_for():
    relaxed, sets = relaxed_over(lambda x: lax.stop_gradient(x) * 1.0)
    (slot,) = relaxed.program.graph.outputs
    (entry,) = relaxed.program.graph.inputs
    rng = np.random.default_rng(4)
    size = sets[0].hull.magnitude[0]
    for _ in range(20):
        A, B = of_any_size(rng, 1, 1, 4), of_any_size(rng, 1, 1, 4)
        form = relaxed.pull_back({slot.id: A, entry.id: B})
        (found,) = form.coefficients
        assert found is not None
        off = [
            abs(exact(c) - exact(a) - exact(b)) for c, a, b in zip(found[0, 0], A[0, 0], B[0, 0])
        ]
        assert any(off)
        assert sum((d * exact(m) for d, m in zip(off, size)), Fraction(0)) <= exact(
            form.paid_error[0, 0]
        )
