"""A transformer for text: tokens, layer norm, heads, a mask that hides what comes, and its parameters counted."""

from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb

from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    Axis,
    Basis,
    Claim,
    Curves,
    Dag,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Table,
    Vertex,
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.networks.architectures import gpt1
from ftheta.networks.layers.tokens import layer_norm
from ftheta.networks.transformers.gpt import GPT1, Gpt, block_parameters, compile_look
from ftheta.networks.transformers.text_model import TextModel
from ftheta.subjects import Dataset
from ftheta.subjects.texts import longer_than_the_context, poem, text_of

from .training import TrainedModel, count_memorised, train

NEAR = 1e-9
PLACES = 15  # at which later tokens are changed
exact = Enclosure.exact


@hypothesis(r"the scores of token $i$ for $j>i$ are $-\infty$", remedy="turn the mask on: --causal")
def later_tokens_masked(data: Dataset, *, causal: bool) -> Finding:
    return Finding.decide(
        causal,
        "by the mask" if causal else "every token sees all others",
        "a knob",
        basis=Basis.EXACT,
    )


@theorem(
    title="The transformer block",
    sources=(
        "peyre-slides",
        "murari-slides",
        "peyre-notes",
        "vaswani2017",
        "radford2018",
        "ba2016",
        "sennrich2016",
    ),
    assumes=(longer_than_the_context, later_tokens_masked),
    on=poem,
    unbreakable="""No text breaks it: the mask is a knob. The preset `broken on purpose` takes it away; forced, it is
    refuted.""",
    presets={
        "textbook": {},
        "characters": {"merges": 0, "context": 32},
        "five poems": {"poet": "all", "merges": 200, "steps": 60},
        "at the edge": {"layers": 1, "heads": 1, "width": 8, "context": 2},
        "memorised": {"steps": 800, "temperature": 0.0},
        "broken on purpose": {"causal": False},
    },
    errata=r"""Peyré's handwritten notes divide by the norm; layer norm divides by the standard deviation, which is
    $\sqrt d$ times less. The verse in Peyré's slides begins "Demain, dès l'aube".""",
    gist="A transformer block is attention and a small network, each added to its input; a causal mask keeps every "
    "prediction from seeing later tokens, which is what lets one train on all positions of a text at once.",
    see_also=(
        "self-attention",
        "transformer-block-optimisers",
        "attention-particle-flow",
        "depth-conventions",
    ),
)
def transformer_block(
    data: Dataset,
    rng: np.random.Generator,
    *,
    merges: Annotated[int, Knob(0, 200, "BPE merges", "m", most=2000)] = 60,
    context: Annotated[int, Knob(8, 64, "context length", "n", log=True, least=2, most=256)] = 16,
    width: Annotated[
        int, Knob(8, 128, "embedding dimension", "d", log=True, least=4, most=512)
    ] = 32,
    heads: Annotated[int, Knob(1, 8, "heads; they divide the width", "h", most=64)] = 4,
    layers: Annotated[int, Knob(1, 6, "blocks", "L", most=24)] = 2,
    causal: Annotated[bool, Knob(says="no token sees a later one", symbol="mask")] = True,
    steps: Annotated[int, Knob(10, 1000, "training steps", "K", log=True, least=1, most=4000)] = 40,
    temperature: Annotated[
        float, Knob(0, 2, "sampling temperature; 0 takes the most probable token", "T")
    ] = 0.5,
) -> Evidence:
    r"""Text becomes tokens, these vectors with positions; a block is $x\mapsto x+\mathrm{MHA}(\mathrm{LN}x)$, then
    $x\mapsto x+\mathrm{MLP}(\mathrm{LN}x)$ with $\mathrm{LN}x=\frac{x-\bar x}{\mathrm{std}(x)}$ (times gain, plus
    bias). It has $12d^2+13d$ parameters. With a causal mask scores after token $k$ depend on tokens up to $k$ alone."""
    sizes = {"context": context, "width": width, "heads": heads, "layers": layers, "causal": causal}
    model = TextModel.build(text_of(data), merges, rng, **sizes)
    vectors = 2 + 3 * rng.normal(size=(64, width))
    trained = train(model, steps)
    said = trained.sample(rng, temperature)
    return Evidence(
        (*count_claims(model), causality_claim(model), training_claim(trained)),
        (_draw_pipeline(model), _draw_training(trained), _draw_attention(trained)),
        {
            "parameters": exact(model.gpt.parameters),
            "parameters of a block": exact(model.gpt.parameters_of_a_block),
            "tokens of the text": exact(model.tokens),
            "different tokens": exact(model.gpt.vocabulary),
            "loss": _measured_loss(trained),
            "memorised characters": exact(count_memorised(said, model.text)),
        },
        (_sample_table(said), _first_tokens(model), parameter_table(model)),
        as_printed=(printed_norm_claim(width),),
        summary=f"{model.gpt.parameters:,} parameters; loss {trained.losses[0]:.3g} → {trained.last_loss:.3g} in "
        f"{len(trained.losses):,} steps, {model.entropy:.3g} by frequencies",
        examples=partial(_examples, vectors),
    )


# -- parameters --------------------------------------------------------------------------------------------


def count_claims(model: TextModel) -> tuple[Claim, ...]:
    """The arrays themselves counted, beside the formulas."""
    g = model.gpt
    d = g.width
    whole = (g.vocabulary + g.context) * d + g.layers * block_parameters(d) + 2 * d
    of_a_block = exact(_count_numbers(model.params["blocks"]) // g.layers)
    return (
        Identity("parameters of a block and 12d² + 13d", of_a_block, exact(block_parameters(d))),
        Identity(
            "parameters and (V + n)d + L(12d² + 13d) + 2d",
            exact(_count_numbers(model.params)),
            exact(whole),
        ),
    )


def _count_numbers(tree: Any) -> int:
    return sum(np.size(leaf) for leaf in jax.tree.leaves(tree))


def parameter_table(model: TextModel) -> Table:
    """Parameters part by part, beside those of GPT-1."""
    here = _count_parts(model.gpt)
    famous = _count_parts(GPT1)
    rows = [(part, count, famous.get(part, 0)) for part, count in here.items()]
    rows.append(("all", model.gpt.parameters, GPT1.parameters))
    return Table("parameters", ("part", "here", "GPT-1"), tuple(rows))


def _count_parts(gpt: Gpt) -> dict[str, int]:
    """The layer table of the architecture, with the parameters of all its blocks in each part."""
    shapes = gpt.shapes
    parts = {"embeddings": shapes["tokens"], "positions": shapes["positions"], **shapes["blocks"]}
    parts["last norm"] = shapes.get("norm", {})
    return {name: _count_shapes(shape) for name, shape in parts.items()}


def _count_shapes(table: Any) -> int:
    shapes = table.values() if isinstance(table, dict) else (table,)
    return sum(int(np.prod(shape)) for shape in shapes)


# -- the mask ----------------------------------------------------------------------------------------------


def causality_claim(model: TextModel) -> Claim:
    """Scores before a place do not change with the tokens from there on."""
    look = compile_look(model.gpt)
    n = model.gpt.context
    first = np.asarray(look(model.params, model.x[0])[0])
    places = np.unique(np.linspace(1, n - 1, min(PLACES, n - 1)).astype(int))
    found = []
    for k in places:
        scores = np.asarray(look(model.params, _replace_later(model, k))[0])
        found.append(float(np.abs(scores - first)[:k].max()))
    worst = int(np.argmax(found))
    witness = _recheck_leak(model, int(places[worst])) if found[worst] > NEAR else None
    change = Enclosure.measured(found[worst], samples=len(places))
    return Identity(
        "change of scores when later tokens change", change, exact(0), witness, atol=NEAR
    )


def _replace_later(model: TextModel, k: int) -> np.ndarray:
    """The first stretch with token k and all later ones (from 0) replaced by others."""
    x = model.x[0]
    return np.where(np.arange(len(x)) < k, x, (x + 1) % model.gpt.vocabulary)


def _recheck_leak(model: TextModel, k: int) -> Witness:
    """The change evaluated again, in intervals."""

    def change(params: Any, one: Any, other: Any) -> Any:
        return jnp.max(jnp.abs(model.gpt.apply(params, one) - model.gpt.apply(params, other))[:k])

    again = enclose_number(change, model.params, model.x[0], _replace_later(model, k))
    return Witness(
        {"first token that changes": float(k)}, again, exact(0), "both stretches, in intervals"
    )


# -- training ----------------------------------------------------------------------------------------------


def training_claim(trained: TrainedModel) -> Claim:
    """The trained model is better than one that knows the frequencies of tokens alone."""
    found = {"steps": float(len(trained.losses)), "width": float(trained.model.gpt.width)}
    what = "weights that know more than frequencies: loss and entropy"
    return Exists(what, found, _measured_loss(trained), Enclosure.equal(trained.model.entropy))


def _measured_loss(trained: TrainedModel) -> Enclosure:
    return Enclosure.measured(trained.last_loss, samples=len(trained.losses))


# -- examples and misprints --------------------------------------------------------------------------------


def _examples(vectors: np.ndarray) -> Examples:
    large = (GPT1.vocabulary + GPT1.context) * GPT1.width + GPT1.layers * block_parameters(
        GPT1.width
    )
    what = "parameters of GPT-1, layer by layer, and (V + n)d + L(12d² + 13d)"
    counted = Identity(what, exact(gpt1().parameters), exact(large))
    numbers = {"block at d = 768": exact(block_parameters(768)), "GPT-1": exact(GPT1.parameters)}
    return Examples((counted, *norm_claims(vectors)), numbers=numbers)


def norm_claims(vectors: np.ndarray) -> tuple[Claim, ...]:
    """Layer norm of random vectors (rows) has mean 0 and standard deviation 1."""
    y = np.asarray(call_compiled(lambda x: layer_norm(x, epsilon=0.0), vectors))
    deviations = y.std(1)
    off = Enclosure.measured(float(np.abs(y.mean(1)).max()), samples=len(y))
    spread = Enclosure.measured(float(deviations[np.abs(deviations - 1).argmax()]), samples=len(y))
    return (
        Identity("mean after layer norm, the largest", off, exact(0), atol=NEAR),
        Identity("deviation after layer norm", spread, exact(1)),
    )


def printed_norm_claim(width: int) -> Claim:
    """Divided by the norm instead of the standard deviation, as one source prints it: 1/√d."""
    printed = Enclosure.ball(1 / arb(width).sqrt())
    return Identity("deviation if the centred vector is divided by its norm", printed, exact(1))


# -- charts and tables -------------------------------------------------------------------------------------


def _draw_training(trained: TrainedModel) -> Curves:
    steps = np.arange(1, len(trained.losses) + 1)
    level = np.ones(len(steps))
    return draw_curves(
        "cross-entropy of the next token",
        steps,
        x="step",
        y="loss",
        measured={"loss": trained.losses},
        reference={
            "all tokens alike": np.log(trained.model.gpt.vocabulary) * level,
            "frequencies": trained.model.entropy * level,
        },
    )


def _draw_attention(trained: TrainedModel) -> Heatmap:
    look = compile_look(trained.model.gpt)
    A = np.asarray(look(trained.wide_params, trained.model.x[0])[1])[-1, 0]
    where = (0.5, len(A) + 0.5, 0.5, len(A) + 0.5)
    axes = (Axis("token looked at"), Axis("token"))
    return Heatmap("attention of a head of the last block", *axes, A, where, "weight")


def _draw_pipeline(model: TextModel) -> Dag:
    """From text to the next token."""
    g = model.gpt
    first = "|".join(model.tokeniser.split(model.text[:200])[:8]).replace("\n", "↵")
    steps = (
        Vertex("text", "text", f"{len(model.text):,} characters"),
        Vertex("tokens", "tokens", f"{first}|…"),
        Vertex("embedding", "embedding", f"{g.vocabulary} × {g.width}"),
        Vertex("positions", "positions", f"{g.context} × {g.width}"),
        Vertex("sum", "+"),
        Vertex(
            "attention",
            f"x + MHA(LN x), ×{g.layers}",
            f"{g.heads} heads" + (", causal" if g.causal else ""),
        ),
        Vertex("mlp", f"x + MLP(LN x), ×{g.layers}", f"{g.width}–{4 * g.width}–{g.width}"),
        Vertex("scores", "scores", f"{g.vocabulary} of the next token"),
    )
    edges = (
        ("text", "tokens"),
        ("tokens", "embedding"),
        ("embedding", "sum"),
        ("positions", "sum"),
        ("sum", "attention"),
        ("attention", "mlp"),
        ("mlp", "scores"),
    )
    return Dag("from text to the next token", steps, edges)


def _sample_table(said: str) -> Table:
    return Table("a sample", ("text",), tuple((line,) for line in said.splitlines()))


def _first_tokens(model: TextModel) -> Table:
    pieces = model.tokeniser.split(model.text[:200])[:16]
    rows = tuple((repr(piece), model.tokeniser.numbers[piece]) for piece in pieces)
    return Table("first tokens", ("piece", "number"), rows)
