"""Convolutional and residual networks on planar slices through three handwritten digits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from sklearn.datasets import load_digits

from ftheta.logic import Basis
from ftheta.pieces import Polygon, pieces
from ftheta.relu.reading.form import relu_form

PIXELS, _ = load_digits(return_X_y=True)
IMAGES = np.asarray(PIXELS)[:3] / 16.0  # a zero, a one and a two of 8 × 8 pixels
AROUND = [(-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5)]


def weights(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) * (2 / max(1, np.prod(shape[1:]))) ** 0.5 for shape in shapes]


def convolve(x, kernel, stride=1):
    return lax.conv_general_dilated(x[None], kernel, (stride, stride), "SAME")[0]


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")


def convolutional(seed=0):
    K, L, A, b = weights(seed, (3, 1, 3, 3), (4, 3, 2, 2), (10, 16), (10,))

    def net(x):
        x = pooled(jax.nn.relu(convolve(x.reshape(1, 8, 8), K, 2) + 0.1))
        return A @ jax.nn.relu(convolve(x, L) - 0.1).ravel() + b

    return net


def residual(seed=1):
    A, B, C, D, b = weights(seed, (24, 64), (24, 24), (24, 24), (10, 24), (24,))

    def net(x):
        x = A @ x.ravel() + b
        for W in (B, C):
            x = x + W @ jax.nn.relu(x)
        return D @ jax.nn.relu(x)

    return net


def residual_convolutional(seed=2):
    K, L, A = weights(seed, (2, 1, 3, 3), (2, 2, 3, 3), (10, 8))

    def net(x):
        x = convolve(x.reshape(1, 8, 8), K, 2)
        x = x + convolve(jax.nn.relu(x), L)
        return A @ pooled(jnp.abs(x)).ravel()

    return net


@pytest.fixture(
    scope="module",
    params=[convolutional, residual, residual_convolutional],
    ids=lambda f: f.__name__,
)
def sliced(request):
    with jax.enable_x64(True):
        net = request.param()
        form = relu_form(net, jax.ShapeDtypeStruct((64,), np.float64))
        zero, one, two = IMAGES
        cells = pieces(form, Polygon.through(zero, one, two, AROUND))
        slopes = jax.jit(jax.vmap(jax.jacfwd(net)))(cells.plan.chart(cells.centres))
        values = jax.jit(jax.vmap(net))(cells.plan.chart(cells.vertices))
        return cells, np.asarray(slopes), np.asarray(values)


def test_the_whole_slice_is_covered_and_the_three_digits_lie_in_it(sliced):
    cells, _, _ = sliced
    assert cells.certificate.complete and cells.certificate.basis is Basis.EXACT and len(cells) > 30
    assert cells.volumes.sum() == pytest.approx(4.0, rel=1e-12) and (cells.volumes > 0).all()
    assert cells.euler() == 1
    for t, image in zip(([0, 0], [1, 0], [0, 1]), IMAGES):
        assert np.allclose(cells.plan.chart(t), image) and 0 <= cells.cell_of(t) < len(cells)


def test_the_map_of_every_cell_is_the_derivative_by_automatic_differentiation(sliced):
    cells, slopes, _ = sliced
    # in a sliver the centre may fall on the other side of a kink
    large = np.sqrt(cells.volumes) > 1e-7
    assert large.mean() > 0.9
    for i in np.flatnonzero(large).tolist():
        assert np.allclose(cells.input_map(i)[0], slopes[i], atol=1e-9)
        assert np.allclose(cells.maps[i, :, :-1], slopes[i] @ cells.plan.chart.basis, atol=1e-9)


def test_maps_equal_the_network_at_corners_and_agree_across_every_facet(sliced):
    cells, _, values = sliced
    owner = np.repeat(np.arange(len(cells)), np.diff(cells.ends))
    affine = (
        np.einsum("nod,nd->no", cells.maps[owner, :, :-1], cells.vertices)
        + cells.maps[owner, :, -1]
    )
    assert np.allclose(affine, values, atol=1e-9)
    assert len(cells.adjacency) >= len(cells) - 1
    for i, j, label in cells.adjacency.tolist():
        here = slice(cells.ends[i], cells.ends[i + 1])
        k = (
            int(np.flatnonzero(cells.labels[here] == label)[0])
            if label in cells.labels[here]
            else None
        )
        if k is not None:
            ring = cells.corners(i)
            ends = np.stack([ring[k], ring[(k + 1) % len(ring)]])
            jump = cells.maps[i] - cells.maps[j]
            assert np.abs(ends @ jump[:, :-1].T + jump[:, -1]).max() < 1e-9


def test_the_regions_of_the_classifier_fill_the_slice(sliced):
    cells, _, _ = sliced
    regions = cells.decision_regions()
    assert sum(share.middle for share in regions.shares) == pytest.approx(1, abs=1e-13)
    assert all(share.basis is Basis.EXACT for share in regions.shares)
