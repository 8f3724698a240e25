"""What programs of any operators compute in floats stays within the bounds that proofs rest on, and is decided."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import ftheta as ft
from ftheta.certify.deviations import FLOAT_TYPES
from ftheta.certify.program_deviations import Deviations, _evaluate, bound_program_deviations
from ftheta.certify.programs.network import TracedNetwork
from ftheta.graph import trace
from ftheta.graph.domains.linear.program import Program, needed_nodes
from ftheta.logic.errors import SubjectError
from ftheta.verifying.networks import read_float_program
from tests.networks.onnx import graphs

SINGLE = FLOAT_TYPES["float32"]
DOUBLE = FLOAT_TYPES["float64"]
RNG = np.random.default_rng(0)


def singles(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Numbers of float32, as float64."""
    return (scale * RNG.standard_normal(shape)).astype(np.float32).astype(np.float64)


W, V, B, KERNEL = singles(6, 4), singles(4, 6), singles(6), singles(3, 1, 2, 2)
HALF = np.float32(0.5)

PROGRAMS = {
    "dense": lambda x: V @ jax.nn.relu(W @ x + B),
    "residual tanh": lambda x: x + V @ jnp.tanh(W @ x + B),
    "sigmoid": lambda x: V @ jax.nn.sigmoid(W @ x),
    "product": lambda x: (V @ jnp.tanh(W @ x)) * x,
    "softmax": lambda x: V @ jax.nn.softmax(W @ x),
    "quotient": lambda x: x / (4.0 + jnp.square(x)),
    "convolution": lambda x: lax.conv_general_dilated(
        x.reshape(1, 1, 2, 2), jnp.asarray(KERNEL, x.dtype), (1, 1), "SAME"
    ).ravel(),
    "pooling": lambda x: lax.reduce_window(
        x.reshape(2, 2), -jnp.inf, lax.max, (2, 1), (1, 1), ((0, 0), (0, 0))
    ).ravel() + HALF * lax.reduce_window(x.reshape(2, 2), 0.0, lax.add, (1, 2), (1, 1), ((0, 0), (0, 0))).ravel(),
    "exponentials": lambda x: jnp.exp(x) - jnp.log(jnp.abs(x) + 1.0) + jnp.sin(x) * jnp.cos(x),
    "clip": lambda x: jnp.clip(3 * x, -1.0, 1.0) + jnp.max(x) - jnp.minimum(x, 0.0),
    "powers": lambda x: x**3 - jnp.sqrt(x * x + 1.0),
}  # fmt: skip

ONES = np.ones(999, np.float32)


def traced(name: str) -> TracedNetwork:
    return TracedNetwork(ft.Network.of(PROGRAMS[name], example=(4,)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_runs_here_is_within_the_deviation(name):
    """At points of the type, against float64: whose own error is far below that of float32."""
    net = traced(name)
    low = singles(4)
    high = low + 0.25
    found = bound_program_deviations(net.program, low, high, SINGLE)
    assert found is not None
    deviation, sizes = found
    x = np.random.default_rng(1).uniform(low, high, (500, 4)).astype(np.float32)
    x = np.clip(
        x, np.nextafter(low.astype(np.float32), np.float32(np.inf)), high.astype(np.float32)
    )
    computed = net.run_in(np.float32, x).astype(np.float64)
    real = net.propagate(x.astype(np.float64))[0]
    assert computed.shape == real.shape
    worst = np.abs(computed - real).max(0)
    assert np.all(worst <= deviation.radius) and np.all(np.abs(computed) <= sizes)
    assert np.all(deviation.radius < 1e-3)
    assert name in ("pooling", "clip") or np.any(worst > deviation.radius / 1e4)


@pytest.mark.parametrize("name", ["dense", "residual tanh"])
def test_any_order_of_summation_is_within_the_deviation(name):
    """Rows summed in random orders, every product and sum rounded to float32."""
    rng = np.random.default_rng(2)
    net = traced(name)
    low, high = -np.ones(4), np.ones(4)
    found = bound_program_deviations(net.program, low, high, SINGLE)
    assert found is not None

    def rows(A: np.ndarray, h: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        out = []
        for k, row in enumerate(A.astype(np.float32)):
            terms = [np.float32(w * v) for w, v in zip(row, h)]
            terms += [] if b is None else [np.float32(b[k])]
            total = np.float32(0)
            for j in rng.permutation(len(terms)):
                total = np.float32(total + terms[j])
            out.append(total)
        return np.array(out, np.float32)

    for _ in range(200):
        x = rng.uniform(-1, 1, 4).astype(np.float32)
        hidden = rows(W, x, B)
        if name == "dense":
            y = rows(V, np.maximum(hidden, np.float32(0)), None)
        else:
            y = (x + rows(V, np.tanh(hidden), None)).astype(np.float32)
        real = net.propagate(x.astype(np.float64)[None])[0][0]
        assert np.all(np.abs(y - real) <= found[0].radius)


def test_deviations_of_every_number_are_never_exceeded_by_their_rounding():
    """Each node by itself: its operands rounded, its result rounded once."""
    for name in PROGRAMS:
        net = traced(name)
        run = Deviations(net.program, -np.ones(4), np.ones(4), SINGLE)
        for node in needed_nodes(net.program):
            run.add(node)
            for slot in node.outputs:
                if slot.id in net.program.varying and slot.is_real:
                    assert np.all(run.of(slot) >= 0) and np.all(np.isfinite(run.of(slot))), node


def test_a_property_is_decided_for_what_floats_compute():
    net = ft.Network.of(PROGRAMS["residual tanh"], example=(4,))
    traced_net = TracedNetwork(net)
    y = traced_net.propagate(np.random.default_rng(3).uniform(-0.1, 0.1, (4000, 4)))[0][:, 0]
    corner = float(y.min())
    safe = ft.Outputs(lambda y: y[0] >= corner - 0.5).on([-0.1] * 4, 0.1)
    assert ft.verify(net, safe, meaning="float32", budget=20).answer == "unsat"
    broken = ft.Outputs(lambda y: y[0] >= corner + 0.05).on([-0.1] * 4, 0.1)
    found = ft.verify(net, broken, meaning="float32", budget=20)
    assert found.answer == "sat" and found.witness is not None
    x = np.array([[float(v) for v in found.witness.x]])
    assert np.array_equal(x, x.astype(np.float32)) and np.all(np.abs(x) <= 0.1)
    again = traced_net.run_in(np.float32, x)[0]
    assert tuple(Fraction(float(v)) for v in again) == found.witness.y


def test_between_a_proof_and_a_run_nothing_is_said():
    """(x + 2²⁴) − 2²⁴ loses small inputs in float32: neither may be shown of a bound inside of the rounding."""
    big = np.float32(2.0**24)
    net = ft.Network.of(lambda x: jnp.tanh((x + big) - big), example=(1,))
    claim = ft.Outputs(lambda y: y[0] >= 0.05).on([0.1], [0.4])
    assert ft.verify(net, claim, budget=10).answer == "unsat"
    assert ft.verify(net, claim, meaning="float32", budget=10).answer == "sat"  # 0 is computed
    wide = ft.Outputs(lambda y: y[0] >= -2).on([0.1], [0.4])
    assert ft.verify(net, wide, meaning="float32", budget=10).answer == "unsat"


def test_what_is_not_covered_is_refused_by_name():
    floor = ft.Network.of(lambda x: jnp.floor(x) + jnp.sin(x), example=(2,))
    claim = ft.Outputs(lambda y: y[0] >= -10).on([0, 0], 1)
    with pytest.raises(SubjectError, match="floor"):
        ft.verify(floor, claim, meaning="float32", budget=5)
    tenth = ft.Network.of(lambda x: jnp.tanh(0.1 * x), example=(2,))
    with pytest.raises(SubjectError, match="no float32 numbers"):
        ft.verify(tenth, claim, meaning="float32", budget=5)
    assert ft.verify(tenth, claim, meaning="float64", budget=5).answer == "unsat"


def test_overflow_is_not_proved_away():
    net = ft.Network.of(lambda x: jnp.exp(x), example=(1,))
    assert (
        bound_program_deviations(TracedNetwork(net).program, np.zeros(1), np.full(1, 100.0), SINGLE)
        is None
    )
    assert (
        bound_program_deviations(TracedNetwork(net).program, np.zeros(1), np.full(1, 100.0), DOUBLE)
        is not None
    )


def test_a_bound_evaluated_in_a_narrow_type_pays_for_that_type():
    """2²⁴ + 1 is 2²⁴ in float32: a sum there forgets all the ones."""
    net = TracedNetwork(
        ft.Network.of(lambda x: jnp.dot(jnp.repeat(x.astype(jnp.float32), 999), ONES), example=(1,))
    )
    (product,) = [node for node in net.program.graph.nodes if node.primitive == "dot_general"]
    terms = np.ones(999)
    terms[0] = 2.0**24
    assert _evaluate(product, terms, np.ones(999)) >= 2**24 + 998


@pytest.mark.parametrize("narrow", [jnp.float16, jnp.bfloat16])
def test_a_cast_to_a_narrower_type_rounds(narrow):
    """It passed as the identity: a proof about float32 of a program that computes in 11 bits."""
    net = ft.Network.of(lambda x: jnp.tanh(x.astype(narrow)).astype(x.dtype), example=(1,))
    with pytest.raises(SubjectError, match="not decided for this operator"):
        bound_program_deviations(TracedNetwork(net).program, np.ones(1), np.full(1, 2.0), SINGLE)


@pytest.mark.parametrize("to, refused", [(10, True), (16, True), (11, True), (1, False)])
def test_a_file_whose_numbers_change_their_type_is_not_asked_about_in_floats(tmp_path, to, refused):
    nodes = [
        graphs.node("Cast", "x", out=("a",), to=to),
        graphs.node("Cast", "a", out=("b",), to=1),
        graphs.node("Tanh", "b"),
    ]
    path = tmp_path / "casts.onnx"
    path.write_bytes(graphs.model(nodes, (1, 1)).SerializeToString())
    for net in (path, ft.load(path)):
        if refused:
            with pytest.raises(SubjectError, match="changes their type"):
                read_float_program(net)
        else:
            assert isinstance(read_float_program(net), TracedNetwork)


def test_a_module_whose_numbers_change_their_type_is_not_asked_about_in_floats():
    class Narrow(torch.nn.Module):
        def forward(self, x):
            return torch.tanh(x.to(torch.float16)).to(torch.float32)

    net = ft.load(Narrow(), example=(1, 1))
    with pytest.raises(SubjectError, match="changes their type"):
        read_float_program(net)
    assert isinstance(read_float_program(ft.load(torch.nn.Tanh(), example=(1, 1))), TracedNetwork)


def test_a_computed_constant_deviates_by_as_much_when_its_sign_is_changed():
    """It was lower than nothing, and took off what sums deviate by."""
    scale = np.float32(0.3)
    f = lambda x: x + jnp.reshape(-jnp.exp(jnp.full(2, scale, x.dtype)), (2, 1))[:, 0]
    program = TracedNetwork(ft.Network.of(f, example=(2,))).program
    run = Deviations(program, -np.ones(2), np.ones(2), SINGLE)
    for node in needed_nodes(program):
        run.add(node)
    found = [run.of(slot) for node in needed_nodes(program) for slot in node.outputs]
    assert all(np.all(deviation >= 0) for deviation in found)
    assert np.all(run.of(program.graph.outputs[0]) >= run.of(found_slot(program, "exp")))


def found_slot(program, primitive: str):
    return next(node.outputs[0] for node in program.graph.nodes if node.primitive == primitive)


@pytest.mark.parametrize("size", [4, 40])
def test_the_largest_of_a_window_deviates_however_many_entries_there_are(size):
    """Where sums of so many numbers of a narrow type are not bounded, deviations in windows counted as none."""
    f = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), ((1, 1), (1, 1)))
    program = Program.of(trace(f, np.zeros((size, size), np.float16)))
    run = Deviations(program, -np.ones(size**2), np.ones(size**2), SINGLE)
    given = np.linspace(0.001, 0.01, size**2).reshape(size, size)
    run.found[program.graph.inputs[0].id] = given
    for node in needed_nodes(program):
        run.add(node)
    found = run.of(program.graph.outputs[0])
    padded = np.pad(given, 1).reshape(size // 2 + 1, 2, size // 2 + 1, 2)
    assert np.all(found >= padded.max((1, 3)))
    assert np.all(found <= 1.01 * padded.max((1, 3)) + 1e-4)
