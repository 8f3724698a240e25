"""One hidden layer by its hyperplanes: the unique form, rays that do not fall to zero, kinks that do not end."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError
from ftheta.relu.elementary import hat
from ftheta.relu.exact import exact
from ftheta.relu.line.points import restrict_to_line
from ftheta.relu.local import is_clean, kink, slope
from ftheta.relu.network import ExactNetwork
from ftheta.theorems.piecewise.one_hidden_layer_not_integrable import uniform
from ftheta.theorems.piecewise.one_hidden_layer_not_integrable.escaping import Decay
from ftheta.theorems.piecewise.one_hidden_layer_not_integrable.jumps import (
    find_jump_change,
    measure_jump_change,
)
from ftheta.theorems.piecewise.one_hidden_layer_not_integrable.named_networks import (
    KINDS,
    build_network,
    integrate_ridge_hat,
)
from ftheta.theorems.piecewise.one_hidden_layer_not_integrable.ridge_form import (
    escaping_ray,
    follow_ray,
    ridge_forms,
    without_idle_steps,
)

from ...relu.nets import networks, points, rationals
from ...thoroughness import max_examples

small = st.integers(-2, 2)


@st.composite
def one_hidden_layer(draw, d: int):
    """Few different numbers, so that hyperplanes coincide and terms cancel."""
    n = draw(st.integers(1, 5))
    table = lambda rows, columns: [[draw(small) for _ in range(columns)] for _ in range(rows)]
    return ExactNetwork.dense([table(n, d), table(1, n)], [table(1, n)[0], table(1, 1)[0]])


@max_examples(60)
@given(st.integers(1, 3), st.data())
def test_the_form_is_the_function_and_its_hyperplanes_are_different(
    d: int, data: st.DataObject
) -> None:
    net = data.draw(one_hidden_layer(d))
    (f,) = ridge_forms(net)
    for x in data.draw(st.lists(points(d), min_size=4, max_size=4)):
        at = tuple(fmpq(t.numerator, t.denominator) for t in x)
        assert f(at) == net.states(x)[-1][0]
    assert all(next(a for a in form[:-1] if a) == 1 for form in f.ridges) and all(f.ridges.values())


@max_examples(80)
@given(st.integers(2, 3), st.data())
def test_a_function_that_is_not_zero_has_a_ray_that_the_network_confirms(
    d: int, data: st.DataObject
) -> None:
    net = data.draw(one_hidden_layer(d))
    (f,) = ridge_forms(net)
    ray = escaping_ray(f)
    assert (ray is None) == f.is_zero
    if ray is None:
        assert all(net(x) == (0,) for x in data.draw(st.lists(points(d), min_size=3, max_size=3)))
    else:
        assert (ray.level, ray.slope) != (0, 0) and follow_ray(net, ray) == ray
        far = 10**9
        x = [p + far * v for p, v in zip(ray.point, ray.direction)]
        assert net(x)[0] == ray.level + far * ray.slope


def test_on_the_line_the_hat_has_no_such_ray() -> None:
    (f,) = ridge_forms(hat())
    assert not f.is_zero and escaping_ray(f) is None


def test_neurons_of_either_orientation_merge_and_idle_steps_do_not_count() -> None:
    w = [[1, 2], [-1, -2], [2, 4]]
    (f,) = ridge_forms(ExactNetwork.dense([w, [[1, 1, -1]]], [[3, -3, 6], [0]]))  # |ℓ| − 2r(ℓ) = −ℓ
    assert not f.ridges and f.affine == (fmpq(-1), fmpq(-2), fmpq(-3))
    deep = ExactNetwork.dense([w, [[1, 1, -1]]], [[3, -3, 6], [0]]) @ ExactNetwork.affine(
        [[1, 0], [0, 1]]
    )
    idle = deep.rebuilt([*[(s.matrix, s.offset, s.rectified) for s in ExactNetwork.affine([[2, 0], [0, 1]]).steps],
                         *[(s.matrix, s.offset, s.rectified) for s in deep.steps]])  # fmt: skip
    assert len(idle.steps) == 3 and len(without_idle_steps(idle).steps) == 2
    assert ridge_forms(idle)[0].affine == (fmpq(-2), fmpq(-2), fmpq(-3))
    with pytest.raises(SubjectError, match="one hidden layer"):
        ridge_forms(exact(build_network(KINDS[-1], 2, 0, np.random.default_rng(0))))


@pytest.mark.parametrize("radius", [1, 3, Fraction(7, 2), 100])
def test_the_ridge_hat_has_mass_2r(radius) -> None:
    assert integrate_ridge_hat(radius) == 2 * radius


def test_networks_in_disguise_are_seen_through() -> None:
    rng = np.random.default_rng(3)
    affine, zero = (Decay.of(exact(build_network(kind, 3, 6, rng))) for kind in KINDS[2:4])
    assert not affine.hyperplanes and affine.first is not None
    assert zero.first is None and "f ≡ 0" in zero.summary


@max_examples(30)
@given(
    networks(inputs=2, outputs=1, max_depth=3),
    points(2),
    st.lists(rationals, min_size=2, max_size=2),
)
def test_one_sided_slopes_are_those_of_the_exact_pieces(net, x, v) -> None:
    f = restrict_to_line(net, x, v)[0]
    after = f.slopes[sum(t <= 0 for t in f.kinks)]
    before = f.slopes[sum(t < 0 for t in f.kinks)]
    ahead = slope(net, x, v).outputs[0]
    behind = slope(net, x, [-t for t in v]).outputs[0]
    assert (ahead, behind) == (
        fmpq(after.numerator, after.denominator),
        fmpq(-before.numerator, before.denominator),
    )
    assert kink(net, x, v) == (after - before,)


def test_kinks_of_one_hidden_layer_do_not_change_and_those_of_a_compact_hat_do() -> None:
    rng = np.random.default_rng(0)
    random, compact = (exact(build_network(kind, 2, 5, rng)) for kind in ("random", KINDS[-1]))
    assert find_jump_change(random).change == 0
    found = find_jump_change(compact)
    assert found.change > 0 and found.places is not None
    assert measure_jump_change(compact, found.normal, *found.places) == found.change


def test_a_point_where_two_kinks_cross_is_not_clean() -> None:
    net = ExactNetwork.dense([[[1, 0], [0, 1]], [[1, 1]]], [[0, 0], [0]])
    assert not is_clean(net, [0, 0], [[0, 1]]) and is_clean(net, [0, 1], [[0, 1]])


def test_the_limit_of_ridge_means_is_the_mean_of_many_directions():
    r = np.array([0.0, 0.5, 1.0, 1.5, 4.0, 30.0])
    many = uniform.ridge_mean(np.stack([r, 0 * r], 1), 200_003)
    assert many == pytest.approx(uniform.radial_limit(r), abs=2 / 200_003)


def test_ridge_means_stay_within_their_bound_and_need_it_up_to_a_factor():
    for directions in (3, 10, 40):
        assert 0.4 / directions <= uniform.worst_distance(directions) <= 2 / directions
