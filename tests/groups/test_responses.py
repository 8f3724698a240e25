"""A black box on a grid: kernel, defect, border, projection."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.groups import Layout, convolve, layout_of, respond, reynolds, symbol, translations
from ftheta.groups import responses as module
from ftheta.groups.convolution import (
    MAPS,
    dense,
    integer_kernel,
    periodic,
    waves_error,
    zero_padded,
)
from ftheta.groups.permutations import commutators
from ftheta.logic import Basis, Status, Verdict
from ftheta.theorems.equivariance.conv_iff_equivariant import (
    claim_both_directions,
    claim_convolution,
    judge_boundary,
)
from ftheta.theorems.equivariance.conv_iff_equivariant.linear_maps import first_layer_defect

from ..thoroughness import max_examples


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def seen(apply, params, shape, T):
    layout = Layout(shape[:-1], shape[-1], T)
    return respond(apply, params, layout, rng())


def matrix(apply, params, shape) -> np.ndarray:
    """Column by column, rows (p, t) and columns (q, s)."""
    columns = [
        np.asarray(apply(params, e.reshape(shape))).ravel() for e in np.eye(int(np.prod(shape)))
    ]
    return np.array(columns).T


def channelled(grid, channels) -> np.ndarray:
    """The translations of the grid acting on (pixel, channel)."""
    group = translations(grid)
    return (group[:, :, None] * channels + np.arange(channels)).reshape(len(group), -1)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("grid", [(5,), (3, 4)])
def test_defect_kernel_and_projection_are_those_of_the_matrix(kind, grid):
    S = 2
    T = 3
    weights = (
        rng().normal(size=(*grid, T, *grid, S))
        if kind == "dense"
        else rng().normal(size=(*[3] * len(grid), S, T))
    )
    found = seen(MAPS[kind], weights, (*grid, S), T)
    W = matrix(MAPS[kind], weights, (*grid, S))
    source = channelled(grid, S)
    target = channelled(grid, T)
    assert found.defect == pytest.approx(commutators(W, source, target).max(), abs=1e-12)
    projected = reynolds(W, source, target)
    assert found.mean_kernel == pytest.approx(
        projected[:, :S].reshape(*grid, T, S).swapaxes(-1, -2), abs=1e-12
    )
    assert found.kernel == pytest.approx(W[:, :S].reshape(*grid, T, S).swapaxes(-1, -2), abs=1e-12)
    along = commutators(W, source, target).reshape(grid)[(slice(None), *[0] * (len(grid) - 1))]
    assert found.commutators() == pytest.approx(along, abs=1e-12)
    whole, parts = found.energies()
    assert whole.middle == pytest.approx((W**2).sum()) == parts.middle


@max_examples(10)
@given(st.integers(0, 50), st.sampled_from([(4,), (5,), (4, 4), (3, 5)]))
def test_a_periodic_integer_convolution_is_recovered_exactly(seed, grid):
    with jax.enable_x64(True):
        kernel = integer_kernel("random integers", np.random.default_rng(seed), 3, len(grid), 2, 2)
        found = seen(periodic, kernel, (*grid, 2), 2)
        assert found.exact and found.defect == 0 == found.distance
        x = np.random.default_rng(seed).integers(-5, 6, (*grid, 2))
        assert (convolve(found.kernel, x) == found.run(x[None])[0]).all()


def test_convolve_is_the_product_of_fourier_transforms():
    kernel = rng().normal(size=(4, 6, 2, 3))
    x = rng().normal(size=(4, 6, 2))
    axes = (0, 1)
    product = np.einsum("abs,abst->abt", np.fft.fftn(x, axes=axes), symbol(kernel))
    assert convolve(kernel, x) == pytest.approx(np.fft.ifftn(product, axes=axes).real, abs=1e-12)


def test_non_integer_weights_are_seen_in_floating_point_and_certified_at_most():
    found = seen(periodic, rng().normal(size=(3, 3, 1, 1)), (5, 5, 1), 1)
    assert not found.exact
    assert found.known(found.defect).basis is Basis.FLOAT
    claims = (*claim_both_directions(found, rng()), *claim_convolution(found, rng()))
    assert {c.judge().verdict for c in claims} == {Verdict.CERTIFIED}


def test_a_program_that_leaves_the_integers_is_not_called_exact():
    halves = lambda w, x: periodic(w, x) / 2
    found = seen(halves, np.ones((3, 1, 1)), (5, 1), 1)
    assert not found.exact and found.kernel.ravel()[0] == 0.5


def test_integer_overflow_is_not_called_exact():
    huge = lambda w, x: x * w * w * w
    assert not seen(huge, np.array([2.0**30]), (4, 1), 1).exact


def test_a_large_grid_is_sampled_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "ENTRIES", 500)
    kernel = integer_kernel("random integers", rng(), 3, 2, 1, 1)
    found = seen(periodic, kernel, (8, 8, 1), 1)
    assert not found.complete and 2 < len(found.positions) < 64
    assert found.known(found.defect).basis is Basis.SAMPLED
    assert judge_boundary(found).status is Status.SAMPLED
    assert all(c.judge().verdict is Verdict.CONSISTENT for c in claim_both_directions(found, rng()))


def reflected(w, x):
    k = w.shape[0] // 2
    padded = jnp.pad(x, ((k, k), (0, 0)), mode="symmetric")
    return jnp.stack(
        [padded[i : i + 2 * k + 1].reshape(-1) @ w.reshape(-1, w.shape[-1]) for i in range(len(x))]
    )


@pytest.mark.parametrize("apply", [zero_padded, reflected])
def test_a_border_that_is_not_periodic_is_found_and_refutes_with_an_exact_witness(apply):
    found = seen(apply, integer_kernel("random integers", rng(), 3, 1, 1, 1), (9, 1), 1)
    assert judge_boundary(found).status is Status.FAILED
    claim = claim_convolution(found, rng())[0]
    assert claim.judge().verdict is Verdict.REFUTED
    witness = found.witness()
    assert witness is not None and found.defect in witness.left and witness.left.lo > 0


def test_a_map_without_sharing_is_not_blamed_on_its_border():
    found = seen(dense, rng().integers(-3, 4, (9, 1, 9, 1)).astype(float), (9, 1), 1)
    assert judge_boundary(found).status is Status.PROVED and not found.shares_weights


def test_an_equivariant_map_that_is_not_linear_contradicts_the_kernel():
    square = lambda w, x: periodic(w, x) ** 2
    found = seen(square, np.ones((3, 1, 1)), (6, 1), 1)
    assert found.defect == 0
    assert claim_both_directions(found, rng())[0].judge().contradicted


def test_waves_are_eigenvectors_of_convolutions_only():
    kernel = np.array([2, -1, 0, -1]).reshape(4, 1, 1)
    frequencies = np.arange(4)[:, None]
    aligned = np.broadcast_to(np.moveaxis(kernel, 0, 1), (4, 1, 4, 1)).copy()
    assert waves_error(aligned, kernel, frequencies) == 0
    aligned[2, 0, 1, 0] += 1
    assert waves_error(aligned, kernel, frequencies) == 1
    assert np.real(symbol(kernel)).ravel() == pytest.approx([0, 2, 4, 2])


def test_shapes_with_a_common_grid_have_a_layout_and_others_none():
    assert layout_of((4, 4, 2), (4, 4, 3)) == Layout((4, 4), 2, 3)
    assert layout_of((2, 5, 5), (3, 5, 5)) == Layout((5, 5), 2, 3, channels_first=True)
    assert layout_of((7,), (7,)) == Layout((7,), 1, 1, bare=True)
    for source, target in [((784,), (10,)), ((4, 4, 1), (2, 2, 1)), ((3, 8, 8), (16,)), ((), ())]:
        assert layout_of(source, target) is None


def test_channels_first_and_bare_rings_are_seen_alike():
    kernel = integer_kernel("random integers", rng(), 3, 2, 2, 3)
    first = lambda w, x: jnp.moveaxis(periodic(w, jnp.moveaxis(x, 0, -1)), -1, 0)
    here = respond(periodic, kernel, Layout((5, 5), 2, 3), rng())
    there = respond(first, kernel, Layout((5, 5), 2, 3, channels_first=True), rng())
    assert (here.aligned == there.aligned).all()
    ring = respond(
        lambda w, x: w * (x - jnp.roll(x, 1)), np.array(2.0), Layout((4,), 1, 1, bare=True), rng()
    )
    assert ring.kernel.ravel().tolist() == [2, -2, 0, 0] and ring.defect == 0


def test_the_first_weight_of_a_flat_network_is_measured_in_either_order_of_channels():
    kernel = integer_kernel("random integers", rng(), 3, 2, 1, 2)
    W = matrix(periodic, kernel, (5, 5, 1))
    assert first_layer_defect(W) == 0
    assert first_layer_defect(W.reshape(25, 2, 25).transpose(1, 0, 2).reshape(50, 25)) == 0
    assert first_layer_defect(rng().normal(size=(50, 25))) > 0.5  # type: ignore[operator]
    assert first_layer_defect(np.ones((10, 25))) is None
    assert first_layer_defect(np.ones((24, 24))) is None
