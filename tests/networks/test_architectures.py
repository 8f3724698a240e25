"""Layer tables: counts, shapes and receptive fields against programs, published numbers and torch."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import UsageError
from ftheta.networks.architectures import (
    FAMOUS,
    Stack,
    alexnet,
    formula_field,
    gpt1,
    resnet34,
    table_of,
    unet,
    vgg16,
)
from ftheta.networks.architectures.counting import PUBLISHED
from ftheta.networks.architectures.famous import basic_block, small_cnn
from ftheta.networks.architectures.mosaics import apart, maps_of_program, maps_of_table, picture
from ftheta.networks.architectures.stack import longest_chain
from ftheta.networks.layers import (
    GELU,
    Attention,
    Conv,
    Dense,
    Embedding,
    LayerNorm,
    Pool,
    ReLU,
    Residual,
    Skip,
    UpConv,
)
from ftheta.theorems.equivariance.subsampling_receptive_field.fields import (
    gradient_support,
    measure_field,
    structural_support,
)

from ..thoroughness import max_examples


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", FAMOUS)
def test_formula_program_and_publication_agree_on_the_parameters(name):
    stack = FAMOUS[name]()
    entries, shapes = stack.trace_shapes()
    assert stack.parameters == entries == PUBLISHED[name]
    assert shapes == stack.shapes[1:]


def test_alexnet_has_the_shapes_and_counts_of_its_paper():
    net = alexnet()
    rows = net.rows()
    sides = [r.shape[1] for r in rows if r.name.startswith("conv")]
    pools = [r.shape[1] for r in rows if "pool" in r.name]
    assert sides == [55, 27, 13, 13, 13] and pools == [27, 13, 6]
    assert (alexnet().parameters, alexnet(grouped=False).parameters) == (60_965_224, 62_378_344)
    assert sum(r.parameters for r in rows) == net.parameters and net.depth == 8


def test_receptive_fields_are_those_of_the_literature():
    assert (alexnet().field(), alexnet().jump()) == (195, 32)
    assert (vgg16().field(), vgg16().jump()) == (212, 32)
    assert (resnet34().field(), resnet34().jump()) == (899, 32)
    assert unet().shapes[-1] == (2, 388, 388) and unet().jump() == 1


def test_resnet_34_has_34_weighted_layers_and_vgg_16_sixteen():
    assert (resnet34().depth, vgg16().depth) == (34, 16)
    assert resnet34().parameters == 21_797_672


def test_counts_are_those_of_torch():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    layers = [
        nn.Conv2d(3, 8, 5, 2, 1, groups=1),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(8, 12, 3, padding=1, groups=4),
        nn.ConvTranspose2d(12, 6, 2, 2),
    ]
    ours = (
        Conv(kernel=5, stride=2, padding=1, channels=8),
        Pool(kernel=3, stride=2),
        Conv(kernel=3, padding=1, channels=12, groups=4),
        UpConv(6),
    )
    module = nn.Sequential(*layers)
    stack = Stack("small", ours, (3, 29, 29))
    assert stack.parameters == sum(p.numel() for p in module.parameters())
    params = [
        {name: p.detach().numpy().astype(float) for name, p in layer.named_parameters()}
        for layer in layers
    ]
    x = np.random.default_rng(0).normal(size=(3, 29, 29))
    theirs = module.double()(torch.tensor(x)[None])[0].detach().numpy()
    assert np.asarray(stack.apply(params, x)) == pytest.approx(theirs, abs=1e-6)
    assert theirs.shape == stack.shapes[-1]


def test_a_transformer_layer_counts_as_torch_counts_it():
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072)
    ours = sum(p.numel() for p in layer.parameters())
    assert gpt1().parameters == 12 * ours + (40_478 + 512) * 768


windows = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3)), min_size=1, max_size=4)


@max_examples(6)
@given(windows, st.lists(st.booleans(), min_size=4, max_size=4))
def test_formula_table_and_gradient_agree_on_the_receptive_field(kernels, pools):
    layers = []
    for (k, s), pool in zip(kernels, pools):
        layers += (
            [Pool(kernel=k, stride=s)]
            if pool
            else [Conv(kernel=k, stride=s, padding=k // 2), ReLU()]
        )
    stack = Stack("random", tuple(layers), (1, 2000), circular=False)
    field, jump = formula_field(longest_chain(stack.layers))
    assert (stack.field(), stack.jump()) == (field, jump)
    seen, (lo, hi) = measure_field(stack)
    assert (seen.lo, seen.hi) == (lo, hi) and seen.width <= field
    if all(k >= s for k, s in kernels):
        assert hi - lo + 1 == field


def test_gradient_and_structure_of_any_program_see_the_same_window():
    stack = Stack(
        "two",
        (Conv(kernel=3, channels=4), ReLU(), Conv(kernel=3, stride=2, channels=2)),
        (2, 15, 15),
    )
    params = stack.initial(np.random.default_rng(0))
    f = lambda x: stack.apply(params, x)
    x = np.random.default_rng(1).normal(size=(6, 2, 15, 15))
    out = stack.shapes[-1]
    wired = structural_support(f, (2, 15, 15), out, 1)
    seen = gradient_support(f, (2, 15, 15), out, 1, x)
    assert (wired.lo, wired.hi) == (seen.lo, seen.hi) == stack.seen(
        3, out[1] // 2
    ) and wired.width == stack.field() == 5


def test_a_block_whose_last_scale_is_zero_is_the_identity():
    stack = Stack("block", (basic_block(3),), (3, 5, 5))
    params = stack.initial(np.random.default_rng(0))
    params[0]["main"][-1]["scale"] *= 0
    x = np.random.default_rng(1).normal(size=(3, 5, 5))
    assert (np.asarray(stack.apply(params, x)) == x).all()


def test_feature_maps_of_table_and_graph_are_the_same():
    stack = small_cnn((4, 6), 16)
    params = stack.initial(np.random.default_rng(0))
    x = picture("disc", 16)[None]
    table, last = maps_of_table(stack, params, x)
    program, output = maps_of_program(stack.apply, params, x)
    convolutions = [a for name, a in program if name == "convolution"]
    assert last == pytest.approx(output)
    assert len(convolutions) == 2 and output == pytest.approx(np.asarray(stack.apply(params, x)))
    assert [name for name, _ in table] == [r.name for r in stack.rows()[:6]]
    assert table[2][1] == pytest.approx(next(a for name, a in program if name == "max pool"))


def test_outputs_that_are_not_finite_differ_unless_they_are_the_same():
    a = np.array([1.0, np.nan, np.inf])
    assert apart(a, a) == 0 and apart(a, np.array([1.5, np.nan, np.inf])) == 0.5
    assert (
        apart(a, np.array([1.0, 2.0, np.inf])) == apart(a, np.array([1.0, np.nan, 3.0])) == np.inf
    )


def test_the_table_of_a_network_is_found_again():
    stack = small_cnn()

    class Net:
        apply = stack.apply

    assert table_of(Net) is stack and table_of(object()) is None


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda: Stack("odd ring", (Pool(kernel=2, stride=2),), (1, 5), circular=True).shapes,
            "stride has to divide",
        ),
        (
            lambda: Stack("small", (Conv(kernel=7),), (1, 5)).shapes,
            "larger than what it slides over",
        ),
        (
            lambda: Stack("groups", (Conv(kernel=1, channels=4, groups=3),), (4, 5)).shapes,
            "groups do not divide",
        ),
        (lambda: Stack("sum", (Residual((Conv(kernel=3),)),), (1, 5)).shapes, "different shapes"),
        (lambda: Stack("skip", (Skip((UpConv(1),)),), (1, 5)).shapes, "does not pad"),
        (lambda: Stack("long", (Embedding(10, 4, 8),), (9,)).shapes, "longer than the context"),
        (lambda: Stack("empty", (), (1,)), "has layers"),
        (lambda: Stack("dense", (Skip((Dense(3),)),), (1, 5)).thin(8), "no chain"),
    ],
)
def test_tables_that_do_not_fit_are_said(make, words):
    with pytest.raises(UsageError, match=words):
        make()


def test_a_block_of_gpt_computes_what_torch_computes():
    torch = pytest.importorskip("torch")
    d = 8
    n = 5
    gelu = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    theirs = (
        torch.nn.TransformerEncoderLayer(d, 2, 16, activation=gelu, batch_first=True, dropout=0.0)
        .double()
        .eval()
    )
    for p in theirs.parameters():
        torch.nn.init.normal_(p)
    w = {name: p.detach().numpy() for name, p in theirs.named_parameters()}
    maps = {"queries, keys, values": "in_proj_", "heads joined": "out_proj."}
    attention = {
        name: {key: w[f"self_attn.{start}{key}"] for key in ("weight", "bias")}
        for name, start in maps.items()
    }
    norms = [{"gain": w[f"norm{k}.weight"], "bias": w[f"norm{k}.bias"]} for k in (1, 2)]
    dense = [{"weight": w[f"linear{k}.weight"], "bias": w[f"linear{k}.bias"]} for k in (1, 2)]
    layers = (
        Residual((Attention(2),)),
        LayerNorm(),
        Residual((Dense(16), GELU(), Dense(d))),
        LayerNorm(),
    )
    params = [
        {"main": [attention], "shortcut": []},
        norms[0],
        {"main": [dense[0], {}, dense[1]], "shortcut": []},
        norms[1],
    ]
    x = np.random.default_rng(0).normal(size=(n, d))
    mask = torch.nn.Transformer.generate_square_subsequent_mask(n).double()
    wanted = theirs(torch.tensor(x)[None], src_mask=mask)[0].detach().numpy()
    assert np.asarray(Stack("block", layers, (n, d)).apply(params, x)) == pytest.approx(
        wanted, abs=1e-9
    )
