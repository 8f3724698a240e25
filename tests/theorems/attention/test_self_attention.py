"""The properties of attention, looked at in networks that have them and in networks that do not."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Verdict
from ftheta.networks.operators.attention import KINDS, Projections, self_attention
from ftheta.networks.transformers import Gpt
from ftheta.networks.transformers.heads import attention_in
from ftheta.running import run
from ftheta.subjects import Dataset, Network
from ftheta.theorems.attention.self_attention import (
    equivariance_claims,
    hull_claim,
    jacobian_claims,
    message_claim,
    row_claim,
    weight_claim,
)
from ftheta.theorems.attention.self_attention import self_attention as THEOREM
from ftheta.theorems.attention.self_attention.closed_forms import scalar_results, slope_of_three
from ftheta.theorems.attention.self_attention.heads_at_inputs import HeadsAtInputs, jacobian_norms

N = 5
D = 4


def look(apply: Any, params: Any, inputs: int = 3) -> HeadsAtInputs:
    net = Network("net", apply, params, (N, D))
    with jax.enable_x64(True):
        rows = np.random.default_rng(0).normal(size=(inputs, N, D))
        return HeadsAtInputs(net, attention_in(apply, params, net.example), rows)


def layer() -> Projections:
    return Projections.normal(np.random.default_rng(1), 2, D, 2)


def verdicts(*claims) -> list[Verdict]:
    return [claim.judge().verdict for claim in claims]


def test_softmax_attention_has_all_properties():
    with jax.enable_x64(True):
        seen = look(self_attention, layer())
        rng = np.random.default_rng(0)
        defect = seen.equivariance_defect(rng)
        order = equivariance_claims(seen, defect)
        formula = jacobian_claims(seen)
        claims = (
            row_claim(seen),
            weight_claim(seen),
            hull_claim(seen, rng),
            message_claim(seen),
            *order,
            *formula,
        )
    assert len(order) == 1 and len(formula) == 1 and defect < 1e-12
    assert all(verdict.holds for verdict in verdicts(*claims))


def test_linear_attention_is_refuted_by_a_row_that_is_summed_again():
    with jax.enable_x64(True):
        assert verdicts(row_claim(look(KINDS["linear"], layer()))) == [Verdict.REFUTED]


def test_weights_that_are_dropped_without_dividing_again_are_noticed():
    keep = np.arange(N) != 2
    dropped = lambda p, x: jnp.where(keep, jax.nn.softmax(x @ p @ x.T, -1), 0.0) @ x
    with jax.enable_x64(True):
        seen = look(dropped, np.eye(D))
        assert seen.attention.softmax and not seen.attention.heads[0].plain
        assert verdicts(row_claim(seen)) == [Verdict.REFUTED]
        # the hull is far from 0, the sums are not
        moved = HeadsAtInputs(seen.net, seen.attention, seen.inputs + 10.0)
        assert hull_claim(moved, np.random.default_rng(0)).judge().contradicted


def test_positions_and_masks_are_noticed_and_their_defect_is_told():
    at = np.random.default_rng(3).normal(size=(N, D))
    with jax.enable_x64(True):
        placed = look(lambda p, x: self_attention(p, x + at), layer())
        masked = look(KINDS["causal"], layer())
        assert placed.order.startswith("positions") and masked.order.startswith("a mask")
        for seen in (placed, masked):
            defect = seen.equivariance_defect(np.random.default_rng(0))
            assert not equivariance_claims(seen, defect) and defect > 1e-3


def test_the_steepness_is_the_norm_of_the_jacobian_formed_or_not(monkeypatch):
    net = Network("net", self_attention, layer(), (N, D))
    x = np.random.default_rng(0).normal(size=(2, N, D))
    with jax.enable_x64(True):
        formed, last = jacobian_norms(net, x)
        assert last is not None
        J = np.asarray(jax.jacfwd(net)(jnp.asarray(x[0]))).reshape(N * D, N * D)
        assert formed[0] == pytest.approx(np.linalg.norm(J, 2), rel=1e-9)
        assert np.linalg.norm(last, 2) == pytest.approx(formed[-1], rel=1e-9)
        monkeypatch.setattr("ftheta.theorems.attention.self_attention.heads_at_inputs.FORMED", 0)
        multiplied, nothing = jacobian_norms(net, x)
        np.testing.assert_allclose(multiplied, formed, rtol=1e-2)
        assert nothing is None


@pytest.mark.parametrize("radius", [0.5, 3.0, 40.0])
def test_the_closed_forms(radius):
    with jax.enable_x64(True):
        mean, pair, slope = scalar_results(np.array([[1.0], [2.0], [6.0]]), radius)
    assert mean == pytest.approx(3.0, rel=1e-12)
    assert pair == pytest.approx(np.tanh(1), rel=1e-12)
    assert slope == pytest.approx((2 * radius**2 + 1) / 3, rel=1e-12)
    assert slope_of_three(radius) == pytest.approx(slope, rel=1e-12)


def test_the_examples_are_certified():
    result = run(THEOREM, inputs=1, tokens=2)
    assert [judged.judgement.verdict for judged in result.examples] == [Verdict.CERTIFIED] * 4


def test_a_network_without_attention_is_told_so():
    net = ft.Network.of(lambda x: jnp.tanh(x), (N, D), "tanh")
    assert run(THEOREM, net).verdict is Verdict.INAPPLICABLE


def test_an_imported_transformer_is_looked_at():
    eqx = pytest.importorskip("equinox")
    module = eqx.nn.MultiheadAttention(2, D, key=jax.random.PRNGKey(0))
    result = run(THEOREM, ft.Network.of(lambda x: x + module(x, x, x), (N, D), "equinox"))
    assert result.verdict is Verdict.CONSISTENT


@pytest.mark.nightly
@pytest.mark.parametrize("suffix", [".pt2", ".onnx"])
@pytest.mark.parametrize("causal", [False, True])
def test_a_transformer_of_torch_is_looked_at_from_its_file(tmp_path, suffix, causal):
    torch = pytest.importorskip("torch")

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = torch.nn.TransformerEncoderLayer(
                D, 2, 2 * D, 0.0, batch_first=True, norm_first=True
            )
            self.inner = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.mask = torch.nn.Transformer.generate_square_subsequent_mask(N) if causal else None

        def forward(self, x: Any) -> Any:
            return self.inner(x, mask=self.mask, is_causal=causal)

    torch.manual_seed(0)
    module = Encoder().eval()
    x = torch.randn(1, N, D)
    path = tmp_path / f"encoder{suffix}"
    if suffix == ".pt2":
        torch.export.save(torch.export.export(module, (x,)), path)
    else:
        torch.onnx.export(module, (x,), path, dynamo=False)
    net: Any = ft.load(path)
    np.testing.assert_allclose(
        net(x.numpy().reshape(net.input_shape)), module(x).detach().numpy()[0], atol=1e-5
    )
    result = run(THEOREM, net)
    assert result.verdict is Verdict.CONSISTENT and [row[0] for row in result.tables[0].rows] == [
        1,
        2,
    ]
    assert (result.numbers["equivariance defect"].lo > 1e-3) == causal
    assert all(row[-1] == "imported" for row in result.tables[0].rows)


def test_a_network_of_token_numbers_is_looked_at():
    gpt = Gpt(vocabulary=11, context=N, width=4, heads=2, layers=1)
    rows = Dataset("numbers", np.random.default_rng(0).integers(11, size=(2, N)))
    net = Network("gpt", gpt.apply, gpt.start(np.random.default_rng(1)), (N,)).with_data(rows)
    result = run(THEOREM, net)
    assert result.verdict is Verdict.CONSISTENT and result.tables[0].rows[0][:5] == (
        1,
        2,
        N,
        N,
        "40%",
    )


def test_weights_that_are_masked_after_the_softmax_are_no_softmax():
    below = np.tril(np.ones((N, N))) > 0

    def masked(Q: Any, x: Any) -> Any:
        return jnp.where(below, jax.nn.softmax(x @ Q @ x.T, -1), 0.0) @ x

    result = run(THEOREM, Network("masked late", masked, np.eye(D), (N, D)))
    assert result.verdict is Verdict.INAPPLICABLE
