"""What theorems on one law or one network take for shown: times of processes, integrals over narrow peaks, tails."""

from math import log, pi

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from ftheta.catalogue import theorem
from ftheta.flows.diffusion.reversal import backward_times
from ftheta.flows.mixtures import Mixture
from ftheta.logic import Verdict
from ftheta.networks import Dense, Description
from ftheta.running import run
from ftheta.subjects import Dataset, Measure, Network
from ftheta.theorems.generative.autoregressive_dequantised import _log_masses


@pytest.mark.parametrize("stop", [1e-5, 1e-3, 0.01, 0.5])
def test_times_of_a_backward_process_fall_to_where_it_stops(stop):
    times = backward_times(Mixture(np.zeros((1, 1)), np.ones(1), 0.0), 6.0, 100, stop)
    assert times[0] == 6 and times[-1] == stop
    assert (np.diff(times) < 0).all()


def test_samples_of_the_reverse_sde_stop_at_the_noise_that_is_asked_for():
    """Of one point and the exact score the samples are normal with the variance 1 − e^(−2τ)."""
    found = run(
        theorem("girsanov"),
        Measure("one point", np.ones((1, 1)), np.ones(1), 0.0),
        error=0.0,
        stop=0.01,
    )
    chart = found.charts[0]
    edges, heights = np.asarray(chart.edges), np.asarray(chart.heights)
    middles, shares = (edges[1:] + edges[:-1]) / 2, heights * np.diff(edges)
    variance = shares @ middles**2 - (shares @ middles) ** 2
    assert variance == pytest.approx(1 - np.exp(-0.02), rel=0.15)
    assert found.verdict.holds


@pytest.mark.parametrize(
    "slope, noise, at", [(10.0, 1e-3, 0.0), (100.0, 1e-3, 0.0), (1.0, 0.5, 0.3)]
)
def test_a_likelihood_with_a_narrow_peak_is_enclosed_or_said_to_be_unknown(slope, noise, at):
    layers = (Dense(np.array([[slope]]), np.zeros(1), "tanh"), Dense(np.ones((1, 1)), np.zeros(1)))
    net = Network.described(Description(layers)).with_role("decoder")
    found = run(theorem("vae-elbo"), net, noise=noise, at=at).numbers["log p(x)"]
    peak, width = np.arctanh(at) / slope, noise / slope
    density = lambda u: np.exp(
        -(((at - np.tanh(slope * (peak + width * u))) / noise) ** 2) / 2
        - (peak + width * u) ** 2 / 2
    )
    reach = 40 if width < 0.1 else 12 / width
    inside = quad(density, -reach, reach, points=[0.0], limit=200)[0]
    assert found.lo <= log(inside * width / (2 * pi * noise)) <= found.hi


def test_masses_of_far_levels_do_not_underflow():
    x = np.array([[0.0], [50.0], [-60.0], [3000.0]])
    found = _log_masses(x, np.zeros((4, 1)), np.ones(1))[:, 0]
    assert found[0] == pytest.approx(log(norm.cdf(1) - 0.5))
    assert found[1:] == pytest.approx(
        [norm.logsf(50), norm.logcdf(-59), norm.logsf(3000)], rel=1e-12
    )


@pytest.mark.parametrize(
    "knobs", [{"time": 0.0}, {"start_spread": 1.0}, {"start": 0.0, "start_spread": 1.0}]
)
def test_decay_at_exactly_its_rate_is_no_doubt(knobs):
    assert run(theorem("langevin-log-sobolev"), **knobs).verdict.holds


def test_a_flow_to_a_single_point_has_its_floor():
    found = run(theorem("flow-matching"), Dataset("one point", np.array([[1.0, 2.0]])))
    assert not any(judged.judgement.contradicted for judged in found.claims)


def test_a_column_that_never_changes_does_not_stop_the_witness_of_a_copy():
    rows = np.stack([np.random.default_rng(0).normal(size=12), np.ones(12)], 1)
    found = run(
        theorem("memorise-and-speciate"), Dataset("constant column", rows), margin=0.0, force=True
    )
    assert found.verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "name, knobs",
    [
        ("langevin-log-sobolev", {"spread": 0.01}),
        ("score-matching", {"components": 1, "noise": 1000.0}),
        ("trace-estimators", {"scale": 0.0, "probes": "sphere"}),
    ],
)
def test_numbers_that_are_zero_up_to_rounding_contradict_nothing(name, knobs):
    assert not any(judged.judgement.contradicted for judged in run(theorem(name), **knobs).claims)
