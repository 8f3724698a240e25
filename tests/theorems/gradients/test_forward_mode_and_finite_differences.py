"""Finite differences beside forward mode, at hard points."""

import jax.numpy as jnp
import numpy as np

from ftheta.catalogue import theorem
from ftheta.logic import Verdict
from ftheta.networks.description import random_mlp
from ftheta.running import run
from ftheta.subjects import Dataset, Network, Target

THEOREM = theorem("forward-mode-and-finite-differences")


def test_a_difference_without_any_error_is_within_its_bound():
    """At y = 0 the function exp(x) y is 0 along x: neither the difference nor its bound is anything but 0."""
    flat = Target("plane", lambda x, y: jnp.exp(x) * y, (-1.0, -1.0), (1.0, 1.0), ("x", "y"))
    assert run(THEOREM, flat, examples=False).verdict not in (Verdict.REFUTED, Verdict.INAPPLICABLE)


def test_a_network_is_differentiated_at_its_first_row_whatever_its_shape():
    rng = np.random.default_rng(0)
    layers = random_mlp(rng, (6, 5, 2), "tanh")
    x = rng.normal(size=(3, 2, 3))
    net = Network(
        "images",
        lambda p, x: layers.apply(p, x.ravel()),
        layers.params,
        (2, 3),
        data=Dataset("x", x),
    )
    result = run(THEOREM, net, epsilon=1e-6, examples=False)
    moved = x[0].copy()
    moved[0, 0] += 1e-6
    difference = float(np.asarray(net(moved)).sum() - np.asarray(net(x[0])).sum()) / 1e-6
    assert (
        result.checks[0].name == "real-valued inputs" and result.verdict is not Verdict.INAPPLICABLE
    )
    assert abs(result.numbers["one-sided difference"].middle - difference) < 1e-8
