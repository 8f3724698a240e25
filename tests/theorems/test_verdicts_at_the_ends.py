"""Where numbers overflow, vanish or cancel: what is true is not refuted, and what was not shown is not said."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.approximation.suprema import Oscillation
from ftheta.catalogue import theorem
from ftheta.certify.low_rank import decompose
from ftheta.flows.fields import growth
from ftheta.graph.certain import is_differentiable_at
from ftheta.graph.jaxprs import trace
from ftheta.logic import Result, SubjectError, Verdict
from ftheta.networks import Dense, Description
from ftheta.risks.hull import membership
from ftheta.running import run
from ftheta.subjects import Dataset, Family, Network, Target
from ftheta.theorems.architectures.autoencoder_svd_rom import second_minimiser
from ftheta.theorems.architectures.perceptron_xor.perceptron import perceptron
from ftheta.theorems.depth.neural_ode_limit import stated
from ftheta.theorems.generalisation.extrapolation_ood.limits import find_limit
from ftheta.theorems.generalisation.extrapolation_ood.rays import choose_rays
from ftheta.theorems.generative.normalising_flows.inverses import Map
from ftheta.theorems.optimisation.nonsmooth_proximal.sparse_regression import AbsoluteDeviations
from ftheta.theorems.optimisation.open_problems_register import classes_of
from ftheta.theorems.width.measure_representation.variation import creases
from ftheta.theorems.width.ntk_kernel.relu import WideLimit, gaussian_p_value, he_network, he_params


def dense(*weights: Any, hidden: str = "relu", bias: float = 0.0) -> Network:
    last = len(weights) - 1
    layers = tuple(
        Dense(np.array(w, float), np.full(len(w), bias), hidden if k < last else "identity")
        for k, w in enumerate(weights)
    )
    return Network.described(Description(layers), "dense")


def random_dense(scale: float, *widths: int, hidden: str = "relu") -> Network:
    rng = np.random.default_rng(1)
    weights = [scale * rng.normal(size=(n, m)) for m, n in pairwise(widths)]
    return dense(*weights, hidden=hidden)


def statuses(found: Result) -> dict[str, str]:
    return {check.name: check.finding.status.value for check in found.checks}


def contradicted(found: Result) -> list[str]:
    return [judged.claim.what for judged in found.claims if judged.judgement.contradicted]


# -- nothing is refuted by rounding ------------------------------------------------------------------


@pytest.mark.parametrize("seed", [69, 3, 4])
def test_products_that_underflow_are_decided_in_rationals(seed):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(6, 3)), 1) * 10.0 ** -rng.uniform(161.0, 162.0)
    labels = np.where(x @ (rng.normal(size=3) * 1e160) > 0, 1, -1)
    rows = labels[:, None] * x
    found = perceptron(rows, 2000)
    assert found.finished and found.wrong(rows) == 0
    assert run(theorem("perceptron-xor"), Dataset("tiny", x, labels)).verdict is Verdict.PROVED


def test_a_cell_that_expands_where_no_one_looked_refutes_no_theorem():
    """Along its own states it contracts; elsewhere it does not, so that a hypothesis fails unseen."""
    steps = lambda z: 0.5 * z + 3 * jnp.maximum(z - 0.05, 0)
    found = run(theorem("rnn-dynamical"), Network.of(steps, example=(3,), name="a cell"), steps=5)
    assert statuses(found) == {"contracting": "sampled"}
    assert "largest growth of a distance in one step" in contradicted(found)
    assert found.verdict is Verdict.INCONCLUSIVE


def test_singular_values_that_float64_does_not_tell_apart_are_no_tie():
    for close, tied in (([1e9 + 1, 1e9, 1.0], False), ([2.0, 2.0, 1.0], True)):
        assert (second_minimiser(decompose(np.diag(close)), 1) is not None) is tied
    data = Dataset("close", np.diag([1e9 + 1, 1e9, 1.0]))
    found = run(theorem("autoencoder-svd-rom"), data, rank=1, force=True)
    assert found.verdict is not Verdict.REFUTED


def test_weights_that_are_random_at_one_width_alone_refute_nothing():
    fixed = lambda width: np.random.default_rng(3) if width == 32 else None
    member = lambda m, rng: Network(f"{m}", he_network, he_params(fixed(m) or rng, 2, m, 1), (2,))
    family = Family("fixed where narrow", member, WideLimit((1.0,)), (32, 64, 128))
    found = run(theorem("ntk-kernel"), family, draws=16)
    assert found.verdict is not Verdict.REFUTED and not contradicted(found)


def test_blocks_a_little_steeper_than_said_refute_no_bound():
    """A bound that is rounded up may exceed c/T by a billionth: what follows is allowed as much."""
    T, c = 64, 4.0
    step = c / T * (1 + 0.9e-9)

    def apply(params, x):
        for a in params:
            x = x + a * x
        return x

    net = Network("even growth", apply, np.full(T, step), (2,))
    found = run(theorem("resnet-block-34"), net, c=c)
    assert statuses(found)["small residual branches"] == "proved"
    assert found.verdict is not Verdict.REFUTED and not contradicted(found)


@pytest.mark.parametrize("targets", [np.zeros(20), np.ones(20), np.arange(20.0)])
def test_states_that_come_close_contradict_no_bound_of_eigenvalues(targets):
    data = Dataset("close", np.random.default_rng(2).normal(size=(20, 2)), targets)
    found = run(theorem("resnet-local-pl"), data)
    assert not contradicted(found)


def test_repeated_rows_still_refute_that_the_kernel_is_definite():
    found = run(theorem("resnet-local-pl"), breaker=True, force=True)
    assert found.verdict is Verdict.REFUTED


def test_one_neuron_is_its_own_mean():
    for scale in (1.0, 1e-150, 1e12):
        found = run(theorem("mean-field-limit"), random_dense(scale, 1, 1, 1))
        assert found.verdict is Verdict.CONSISTENT, (scale, contradicted(found))


# -- nothing is shown by numbers that overflowed -------------------------------------------------------


@pytest.mark.parametrize("last, hidden", [(1e307, "tanh"), (1e200, "square")])
def test_a_bound_that_overflows_certifies_no_limit(last, hidden):
    rng = np.random.default_rng(0)
    layers = (
        Dense(rng.normal(size=(6, 2)), rng.normal(size=6), "tanh"),
        Dense(last * rng.normal(size=(6, 6)), np.zeros(6), hidden),
        Dense(last * rng.normal(size=(1, 6)), np.zeros(1)),
    )
    found = run(theorem("extrapolation-ood"), Network.described(Description(layers), "steep"))
    assert found.verdict is Verdict.INCONCLUSIVE


def test_a_neuron_that_stands_still_on_a_ray_stays_where_it_is():
    """Its weights cancel on the direction in rationals, and not in float64."""
    weight = np.array([[1e16, 1.0, -1e16, -1.0]])
    rest = Dense(np.ones((1, 1)), np.zeros(1))
    layers = Description((Dense(weight, np.array([0.25]), "tanh"), rest))
    found = find_limit(layers, np.zeros(4), np.array([1.0, 1.0, 1.0, 1.0]))
    assert found.moves[0] == 0 and found.limit[0] == pytest.approx(np.tanh(0.25))
    tiny = find_limit(layers, np.zeros(4), np.array([1.0, 1.0, 1.0, 1 + 2**-52]))
    assert tiny.moves[0] < 0 and tiny.limit[0] == -1


@pytest.mark.parametrize(
    "id, scale, known",
    [
        ("ntk-kernel", 1e150, False),
        ("mean-field-limit", 1e150, False),
        ("mean-field-limit", 1e300, False),
        ("measure-representation", 1e150, True),
        ("measure-representation", 1e300, False),
    ],
)
def test_overflowing_kernels_and_masses_are_not_known(id, scale, known):
    found = run(theorem(id), random_dense(scale, 2, 200, 1))
    assert found.verdict is (Verdict.CERTIFIED if known else Verdict.INCONCLUSIVE)
    assert not contradicted(found)


def test_derivatives_near_zero_are_not_those_of_lorenz():
    """All of them are within 10⁻⁹ of it, as of any other law."""
    rng = np.random.default_rng(0)
    x, slopes = 1e-12 * rng.normal(size=(2, 60, 3))
    found = run(theorem("autoencoder-svd-rom-sindy"), Dataset("tiny", x, slopes))
    assert statuses(found)["law among monomials"] == "assumed"
    given = run(theorem("autoencoder-svd-rom-sindy"))
    assert statuses(given)["law among monomials"] == "proved"


def test_a_trajectory_that_overflows_contradicts_what_is_stated_of_it():
    flow = growth(1.0)
    blown = replace(flow, field=lambda theta, x: 1e300 * x**3)
    with np.errstate(all="ignore"):
        assert stated.compare(blown).status.value == "failed"


def test_rounding_of_huge_labels_is_no_tolerance():
    x = np.linspace(-1, 1, 9)[:, None]
    found = run(theorem("runge"), Dataset("huge", x, 1e150 * np.cos(x[:, 0])))
    claim = next(j.claim for j in found.claims if "labels move" in j.claim.what)
    assert claim.left.middle == pytest.approx(claim.right.middle, rel=1e-6)
    assert claim.atol == 0 and claim.right.middle > 1


def test_the_modulus_of_continuity_on_a_short_interval_far_out():
    """Its ends are four floats apart, so that most of the cells are empty."""
    f = lambda x: jnp.maximum(x - 1e16, 0.0)
    found = Oscillation.of(f, 1e16, 1e16 + 8).modulus(0.5)
    assert found.hi >= 0.5 >= found.lo
    crossing = lambda x: jnp.abs(x - (1e16 + 4))
    whole = Oscillation.of(crossing, 1e16, 1e16 + 8).modulus(3.0)
    assert whole.hi >= 3 >= whole.lo


# -- answers for subjects of any size ------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e200, 1e300])
def test_directions_of_rows_do_not_depend_on_their_size(scale):
    x = np.random.default_rng(2).normal(size=(12, 2))
    for id, knobs in (("overparam-gd", {}), ("chizat-bach", {"seeds": 4, "steps": 100})):
        data = Dataset("rows", scale * x, scale * np.cos(np.arange(12.0)))
        found = run(theorem(id), data, **knobs)
        assert found.verdict is Verdict.CONSISTENT, id


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e200, 8e307])
def test_hulls_of_rows_of_any_size(scale):
    x = np.array([[1.0, 1], [-1, 1], [1, -1], [-1, -1]]) * scale
    assert membership(x, np.array([0.25, 0.5]) * scale).kind == "inside"
    found = membership(x, np.array([2.0, 0.0]) * scale)
    assert found.kind == "outside" and found.distance == pytest.approx(scale, rel=1e-6)


def test_rays_go_through_rows_that_are_not_their_centre():
    x = np.concatenate([np.zeros((60, 2)), [[1.0, 0], [-1, 0]]])
    assert len(choose_rays(x, 2, np.random.default_rng(0), 4)) == 2


@pytest.mark.parametrize("id", ["extrapolation-ood", "depth-separation"])
def test_relu_networks_whose_numbers_are_rationals_beyond_the_floats(id):
    found = run(theorem(id), random_dense(1e300, 2, 6, 1))
    assert found.verdict is Verdict.PROVED


def test_creases_are_the_same_or_not_in_rationals():
    two = Dense(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([0.0, 1e-10]), "relu")
    last = Dense(np.array([[1.0, -1.0]]), np.zeros(1))
    assert creases(Description((two, last))).sum() == pytest.approx(2 * np.sqrt(5))
    same = replace(two, bias=np.array([3.0, 3.0]))
    assert creases(Description((same, last))).sum() == 0
    thirds = Dense(np.array([[1.0, 2.0], [-3.0, -6.0]]), np.array([0.5, -1.5]), "relu")
    assert len(creases(Description((thirds, last)))) == 1


def test_a_network_without_neurons_has_no_kinks():
    found = run(theorem("measure-representation"), dense(np.zeros((3, 2)), np.ones((1, 3))))
    assert found.numbers["kinks"].hi == 0 and "kinks" not in found.summary


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_a_test_of_gaussian_weights_does_not_see_their_size(scale):
    rng = np.random.default_rng(0)
    for weights in (rng.normal(size=(30, 30)), rng.choice([-1.0, 1.0], size=(30, 30))):
        plain = gaussian_p_value([weights])[0]
        assert gaussian_p_value([scale * weights])[0] == pytest.approx(plain, rel=1e-6)


def test_gradients_with_respect_to_no_parameters_are_not_asked_for():
    net = Network.of(lambda x: x + jnp.tanh(x), example=(2,), name="no parameters")
    assert run(theorem("adjoint-method"), net).verdict is Verdict.INAPPLICABLE


def test_mean_fields_of_other_inputs_than_two():
    family = theorem("mean-field-limit").on(np.random.default_rng(0))

    def member(q: int, rng: np.random.Generator) -> Network:
        two = family.member(q, rng)
        return Network("three inputs", two.apply, (np.ones(q), rng.normal(size=(q, 3))), (3,))

    given = Family("three inputs", member, family.limit, (16, 64, 256, 1024))
    assert run(theorem("mean-field-limit"), given).verdict.holds


@pytest.mark.parametrize("f", [lambda x: max(x, 0), lambda x: float(x)])
def test_functions_that_jax_cannot_follow_are_refused_in_words(f):
    with pytest.raises(SubjectError, match="cannot follow"):
        run(theorem("runge"), Target("in Python", f, (-1.0,), (1.0,)))


def test_labels_too_large_to_be_numbered_are_no_classes():
    x = np.random.default_rng(0).normal(size=(4, 2))
    for largest, known in ((3, True), (1e9, False), (1.5e150, False)):
        labels = np.array([0, 1, 2, largest])
        assert (classes_of(Dataset("large", x, labels)) is not None) is known


def test_rows_whose_squares_vanish_are_refused_in_words():
    tiny = Dataset("tiny", np.full((6, 2), 1e-200), np.arange(6.0))
    with pytest.raises(SubjectError, match="scale"):
        run(theorem("training-loop"), tiny)


def test_a_linear_program_that_is_not_solved_is_said_to_be_none():
    rng = np.random.default_rng(0)
    with pytest.raises(SubjectError, match="linear program"):
        _ = AbsoluteDeviations(1e300 * rng.normal(size=(20, 2)), 1e-300 * np.ones(20)).best


def test_rationals_beyond_the_floats_are_an_error_of_the_subject():
    rows = Dataset("huge", np.eye(3)[:2], np.array([1e200, -1e200]))
    with pytest.raises(SubjectError, match="beyond"):
        run(theorem("noise-dropout-augmentation"), rows)


@pytest.mark.parametrize("property", ["any", "monotone", "convex"])
def test_derivatives_of_a_program_on_its_kinks_prove_nothing(property):
    """The sum of four numbers is linear; the derivative of this program for it is −1 at 0."""
    part = lambda x: 2 * (jax.nn.relu(x) - jax.nn.relu(-x)) - x
    rows = np.array([[0.0, 0, 0, 0], [1, 0, 2, 0], [-1, 1, 0, 3], [-1, -1, -1, -1]])
    net = Network.of(lambda x: jnp.sum(part(x), keepdims=True), example=(4,), name="a sum")
    net = net.with_data(Dataset("on kinks", rows))
    chosen = {"property": property, "force": True, "examples": False}
    found = run(theorem("structure-preserving-networks"), net, **chosen)
    assert found.verdict not in (Verdict.PROVED, Verdict.REFUTED)
    failures = [j for j in found.claims if j.claim.what.startswith("a place where")]
    assert not any(j.judgement.verdict is Verdict.PROVED for j in failures)


def test_places_where_a_smooth_network_is_not_monotone_are_proved():
    net = random_dense(1.0, 4, 6, 1, hidden="tanh")
    found = run(theorem("structure-preserving-networks"), net, property="any", examples=False)
    assert {j.judgement.verdict for j in found.claims} == {Verdict.PROVED}


def test_the_orientation_of_a_map_is_not_that_of_its_program_on_a_kink():
    part = lambda x: 2 * (jax.nn.relu(x) - jax.nn.relu(-x)) - x
    identity = Map(Network.of(part, example=(1,), name="the identity"))
    assert identity.enclose_turn(np.zeros(1), np.ones(1)).lo < 0
    assert identity.enclose_turn(-np.ones(1), np.ones(1)).hi < 0
    folded = Map(Network.of(lambda x: part(x) ** 2, example=(1,), name="a fold"))
    assert folded.enclose_turn(-np.ones(1), np.ones(1)).lo > 0


@pytest.mark.parametrize(
    "f, smooth, bent",
    [
        (jax.nn.relu, [-1.0, 1.0], [0.0]),
        (lambda x: jnp.maximum(x, 1.0), [0.0, 2.0], [1.0]),
        (lambda x: jnp.clip(x, -1.0, 2.0), [-2.0, 0.0, 3.0], [-1.0, 2.0]),
        (lambda x: jnp.abs(jnp.tanh(x)), [-1.0, 1.0], [0.0]),
        (lambda x: jnp.sqrt(x), [1.0], [0.0]),
        (lambda x: jnp.exp(jnp.sin(x)), [0.0, 1.0], []),
        (lambda x: jnp.where(x > 0, x, 0.0), [], [1.0]),
        (lambda x: x + jax.lax.stop_gradient(x), [], [1.0]),
    ],
)
def test_programs_are_differentiable_away_from_their_kinks(f, smooth, bent):
    with jax.enable_x64(True):
        graph = trace(f, 1.0, fold_rounded=False)
    assert all(is_differentiable_at(graph, x) for x in smooth)
    assert not any(is_differentiable_at(graph, x) for x in bent)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-150, 1e150, 1e200])
def test_nothing_is_said_of_codes_whose_squares_are_no_floats(scale):
    rng = np.random.default_rng(2)
    data = Dataset("signals", rng.normal(size=(20, 2)), scale * rng.normal(size=20))
    found = run(theorem("ista-lista"), data)
    assert found.verdict is Verdict.INCONCLUSIVE and not found.claims


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
def test_rows_that_are_apart_are_not_taken_for_one_another(scale):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6, 2))
    data = Dataset("apart", scale * x, scale * (x + 0.1 * rng.normal(size=(6, 2))))
    found = run(theorem("resnet-local-pl"), data, force=True)
    assert statuses(found)["inputs apart"] == "proved"
    assert found.verdict is Verdict.CONSISTENT


def test_a_forced_run_without_the_layers_that_it_needs_says_so():
    net = Network.of(jnp.tanh, example=(2,), name="no layers")
    with pytest.raises(SubjectError, match="forced"):
        run(theorem("mean-field-limit"), net, force=True)
