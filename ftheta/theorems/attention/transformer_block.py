"""A transformer for text: tokens, layer norm, heads, a mask that hides what comes, and its parameters counted."""

from typing import Annotated

import numpy as np

from ftheta.limits.tokens.text_study import TextModel, exact, pieces_table
from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.logic.chart import Table
from ftheta.networks.transformers import GPT1, TEXTS, Gpt, Tokeniser, block_parameters
from ftheta.networks.transformers import text as shipped
from ftheta.subjects import Dataset, Network


def transformer(
    rng: np.random.Generator,
    *,
    text: Annotated[str, Knob(says="which poem", symbol="text", choices=(*TEXTS, "all"))] = "hugo",
    merges: Annotated[int, Knob(0, 200, "pairs joined by the tokeniser", "m", most=2000)] = 60,
    context: Annotated[int, Knob(8, 64, "tokens seen at once", "n", log=True, least=2, most=256)] = 16,
    width: Annotated[int, Knob(8, 128, "numbers in a token", "d", log=True, least=4, most=512)] = 32,
    heads: Annotated[int, Knob(1, 8, "heads; they divide the width", "h", most=64)] = 4,
    layers: Annotated[int, Knob(1, 6, "blocks", "L", most=24)] = 2,
    causal: Annotated[bool, Knob(says="no token sees a later one", symbol="mask")] = True,
) -> Network:
    poem = shipped(text)
    tokeniser = Tokeniser.learn(poem, merges)
    gpt = Gpt(len(tokeniser), context, width, heads, layers, causal, tokeniser=tokeniser)
    data = Dataset(text, *gpt.windows(tokeniser.encode(poem)))
    return Network(f"{layers} blocks on {text}", gpt.apply, gpt.start(rng), (context,)).with_data(data)


def model_of(net: Network) -> TextModel | None:
    gpt = getattr(net.apply, "__self__", None)
    if not isinstance(gpt, Gpt) or gpt.tokeniser is None or net.data is None or net.data.y is None:
        return None
    return TextModel(gpt, net.params, net.data.x.astype(np.int64), net.data.y)


@hypothesis("a transformer on a text", remedy="build networks.transformers.Gpt with a tokeniser, its windows as data")
def transformer_on_text(net: Network) -> Finding:
    model = model_of(net)
    if model is None:
        return Finding.failed("this network is not made by Gpt, or has no text")
    return Finding.proved(f"{model.gpt.vocabulary} tokens, {len(model.x):,} stretches of {model.gpt.context}")


@hypothesis("no token looks at a later one", remedy="mask the later tokens: Gpt(causal=True)")
def causal_mask(net: Network) -> Finding:
    model = model_of(net)
    if model is None:
        return Finding.failed("unknown without a transformer")
    change, k = model.leak
    note = f"scores before token {k} change by {change:.3g} when it and later ones change"
    return Finding.sampled(note) if change <= 1e-9 else Finding.failed(note)


@theorem(
    title="The transformer block",
    sources=("seed 0", "seed 2", "seed 4", "vaswani2017", "radford2018", "ba2016", "sennrich2016"),
    assumes=(transformer_on_text, causal_mask),
    on=transformer,
    breaks_on=lambda rng: transformer(rng, causal=False),
    presets={
        "textbook": {},
        "characters": {"merges": 0, "context": 32},
        "five poems": {"text": "all", "merges": 200, "steps": 60},
        "at the edge": {"layers": 1, "heads": 1, "width": 8, "steps": 50},
        "broken on purpose": {"causal": False},
    },
    errata=r"""Seed 4 divides by the norm; layer norm divides by the standard deviation, which is $\sqrt d$ times less.
    The verse of seed 0 begins "Demain, dès l'aube".""",
    audited=False,
)
def transformer_block(
    net: Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[int, Knob(10, 1000, "training steps", "K", log=True, least=1, most=20_000)] = 120,
    temperature: Annotated[float, Knob(0, 2, "0 takes the likeliest token, 1 draws", "T")] = 0.5,
) -> Evidence:
    r"""Text becomes tokens, these vectors with positions; a block is $x\mapsto x+\mathrm{MHA}(\mathrm{LN}x)$, then
    $x\mapsto x+\mathrm{MLP}(\mathrm{LN}x)$ with $\mathrm{LN}x=\frac{x-\bar x}{\mathrm{std}(x)}$ (times gain, plus
    bias). It has $12d^2+13d$ parameters. With a causal mask scores after token $k$ depend on tokens up to $k$ alone."""
    model = model_of(net)
    if model is None:
        return Evidence((), summary="this is no transformer on a text")
    (norm, printed), trained = model.norms(rng), model.trained(steps)
    said = trained.sample(rng, 60, temperature)
    return Evidence(
        (*model.counts(), model.round_trip(), *norm, model.causality(), trained.claim()),
        trained.charts(),
        {
            "parameters of a block": exact(model.gpt.parameters_of_a_block),
            "block at d = 768": exact(block_parameters(768)),
        }
        | {"parameters": exact(model.gpt.parameters), "GPT-1": exact(GPT1.parameters), "loss": trained.last},
        (Table("a sample", ("text",), tuple((line,) for line in said.splitlines())), pieces_table(model)),
        as_printed=(printed,),
        summary=f"{model.gpt.parameters:,} parameters; loss {trained.losses[0]:.3g} → {trained.last:.3g} in {steps} "
        f"steps, {model.entropy:.3g} by frequencies",
    )
