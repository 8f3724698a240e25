"""A small GPT against torch and against what is known of its size."""

import jax
import numpy as np
import pytest

from ftheta.logic import SubjectError, UsageError
from ftheta.networks.transformers import (
    GPT1,
    Gpt,
    Tokeniser,
    block_parameters,
    layer_norm,
    next_token_loss,
    text,
)
from ftheta.networks.transformers.gpt import frequencies_loss

SMALL = Gpt(vocabulary=11, context=7, width=12, heads=3, layers=2)


def test_gpt_1_has_the_parameters_that_it_is_said_to_have():
    assert block_parameters(768) == GPT1.parameters_of_a_block == 7_087_872
    assert GPT1.parameters == 116_534_784


def test_parameters_are_counted_as_torch_counts_them():
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(12, 3, 48)
    assert sum(p.numel() for p in layer.parameters()) == block_parameters(12)
    drawn = SMALL.start(np.random.default_rng(0))
    assert sum(np.size(leaf) for leaf in jax.tree.leaves(drawn)) == SMALL.parameters


def test_layer_norm_is_that_of_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 8))
    gain = rng.normal(size=8)
    bias = rng.normal(size=8)
    theirs = torch.nn.functional.layer_norm(
        torch.tensor(x), (8,), torch.tensor(gain), torch.tensor(bias)
    )
    with jax.enable_x64(True):
        np.testing.assert_allclose(layer_norm(x, gain, bias), theirs.numpy(), rtol=1e-12)


def test_the_model_is_a_stack_of_torch_encoder_layers():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    params = jax.tree.map(lambda a: a + 0.3 * rng.normal(size=a.shape), SMALL.start(rng))
    numbers = np.array([3, 1, 4, 1, 5, 9, 2])
    x = torch.tensor(params["tokens"][numbers] + params["positions"])[None]
    gelu = lambda t: torch.nn.functional.gelu(t, approximate="tanh")
    for k in range(SMALL.layers):
        layer = torch.nn.TransformerEncoderLayer(
            12, 3, 48, 0.0, gelu, batch_first=True, norm_first=True, dtype=torch.float64
        )
        p = jax.tree.map(lambda a: torch.tensor(a[k]), params["blocks"])  # noqa: B023
        with torch.no_grad():
            layer.self_attn.in_proj_weight.copy_(p["queries, keys, values"]["weight"])
            layer.self_attn.in_proj_bias.copy_(p["queries, keys, values"]["bias"])
            for theirs, ours in (
                (layer.self_attn.out_proj, "heads joined"), (layer.linear1, "mlp in"), (layer.linear2, "mlp out"),
            ):  # fmt: skip
                theirs.weight.copy_(p[ours]["weight"])
                theirs.bias.copy_(p[ours]["bias"])
            for theirs, ours in ((layer.norm1, "attention norm"), (layer.norm2, "mlp norm")):
                theirs.weight.copy_(p[ours]["gain"])
                theirs.bias.copy_(p[ours]["bias"])
        x = layer(
            x, src_mask=torch.nn.Transformer.generate_square_subsequent_mask(7, dtype=torch.float64)
        )
    last = torch.nn.functional.layer_norm(
        x[0], (12,), *(torch.tensor(params["norm"][n]) for n in ("gain", "bias"))
    )
    scores = (last @ torch.tensor(params["tokens"]).T).detach().numpy()
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            jax.jit(SMALL.apply)(params, numbers), scores, rtol=1e-9, atol=1e-11
        )


def test_the_loss_is_that_of_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(7, 11))
    targets = rng.integers(11, size=7)
    theirs = torch.nn.functional.cross_entropy(torch.tensor(scores), torch.tensor(targets))
    with jax.enable_x64(True):
        assert float(next_token_loss(scores, targets)) == pytest.approx(float(theirs), rel=1e-12)


@pytest.mark.parametrize("causal", [True, False])
def test_later_tokens_are_hidden_by_the_mask_alone(causal):
    model = Gpt(11, 7, 12, 3, 2, causal)
    params = model.start(np.random.default_rng(0))
    one = np.arange(7)
    other = np.array([0, 1, 2, 3, 8, 9, 10])
    scores = jax.jit(model.apply)
    a, b = (np.asarray(scores(params, row)) for row in (one, other))
    assert (np.abs(a - b)[:4].max() == 0) == causal
    assert np.abs(a - b)[4:].max() > 0


def test_a_sequence_longer_than_the_context_is_refused_with_a_remedy():
    params = SMALL.start(np.random.default_rng(0))
    with pytest.raises(SubjectError, match="longer than the context") as raised:
        SMALL.apply(params, np.zeros(8, int))
    assert "8 tokens, a context of 7" in str(raised.value) and raised.value.remedy
    with pytest.raises(SubjectError, match="longer than the context"):
        SMALL.sample(params, range(8), 1, np.random.default_rng(0))
    with pytest.raises(SubjectError, match="not longer than the context"):
        SMALL.windows(range(7))
    with pytest.raises(UsageError):
        Gpt(10, 10, width=10, heads=3)


def test_windows_are_stretches_and_what_follows_them():
    x, y = SMALL.windows(np.arange(11))
    assert x.tolist() == [list(range(k, k + 7)) for k in range(4)]
    assert (y == x + 1).all()


def test_sampling_follows_the_scores():
    params = SMALL.start(np.random.default_rng(0))
    likeliest = SMALL.sample(params, [1, 2], 9, np.random.default_rng(0), temperature=0.0)
    scores = jax.jit(SMALL.apply)
    for k in range(7, len(likeliest)):
        assert likeliest[k] == int(
            np.asarray(scores(params, np.array(likeliest[k - 7 : k])))[-1].argmax()
        )
    assert likeliest[2] == int(
        np.asarray(scores(params, np.array([1, 2, 9, 9, 9, 9, 9])))[1].argmax()
    )
    drawn = [SMALL.sample(params, [1], 3, np.random.default_rng(s)) for s in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_frequencies_alone_lose_their_entropy():
    assert frequencies_loss([0, 0, 1, 1]) == pytest.approx(np.log(2))
    poem = text("hugo")
    assert 0 < frequencies_loss(Tokeniser.learn(poem).encode(poem)) < np.log(len(set(poem)))
