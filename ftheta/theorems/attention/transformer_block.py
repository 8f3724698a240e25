"""A transformer for text: tokens, layer norm, heads, a mask that hides what comes, and its parameters counted."""

from typing import Annotated

import numpy as np

from ftheta.limits.tokens.text_study import TextModel, text_evidence
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset
from ftheta.subjects.texts import longer_than_the_context, poem, text_of


@hypothesis(r"the scores of token $i$ for $j>i$ are $-\infty$", remedy="turn the mask on: --causal")
def later_tokens_masked(data: Dataset, *, causal: bool) -> Finding:
    return Finding.decide(
        causal, "by the mask" if causal else "every token sees all others", "a knob", basis=Basis.EXACT
    )


@theorem(
    title="The transformer block",
    sources=("seed 0", "seed 2", "seed 4", "vaswani2017", "radford2018", "ba2016", "sennrich2016"),
    assumes=(longer_than_the_context, later_tokens_masked),
    on=poem,
    unbreakable="""No text breaks it: the mask is a knob. The preset `broken on purpose` takes it away; forced, it is
    refuted.""",
    presets={
        "textbook": {},
        "characters": {"merges": 0, "context": 32},
        "five poems": {"poet": "all", "merges": 200, "steps": 60},
        "at the edge": {"layers": 1, "heads": 1, "width": 8, "context": 2},
        "learnt by heart": {"steps": 800, "temperature": 0.0},
        "broken on purpose": {"causal": False},
    },
    errata=r"""Seed 4 divides by the norm; layer norm divides by the standard deviation, which is $\sqrt d$ times less.
    The verse of seed 0 begins "Demain, dès l'aube".""",
)
def transformer_block(
    data: Dataset,
    rng: np.random.Generator,
    *,
    merges: Annotated[int, Knob(0, 200, "pairs joined by the tokeniser", "m", most=2000)] = 60,
    context: Annotated[int, Knob(8, 64, "tokens seen at once", "n", log=True, least=2, most=256)] = 16,
    width: Annotated[int, Knob(8, 128, "numbers in a token", "d", log=True, least=4, most=512)] = 32,
    heads: Annotated[int, Knob(1, 8, "heads; they divide the width", "h", most=64)] = 4,
    layers: Annotated[int, Knob(1, 6, "blocks", "L", most=24)] = 2,
    causal: Annotated[bool, Knob(says="no token sees a later one", symbol="mask")] = True,
    steps: Annotated[int, Knob(10, 1000, "training steps", "K", log=True, least=1, most=4000)] = 40,
    temperature: Annotated[float, Knob(0, 2, "0 takes the likeliest token, 1 draws", "T")] = 0.5,
) -> Evidence:
    r"""Text becomes tokens, these vectors with positions; a block is $x\mapsto x+\mathrm{MHA}(\mathrm{LN}x)$, then
    $x\mapsto x+\mathrm{MLP}(\mathrm{LN}x)$ with $\mathrm{LN}x=\frac{x-\bar x}{\mathrm{std}(x)}$ (times gain, plus
    bias). It has $12d^2+13d$ parameters. With a causal mask scores after token $k$ depend on tokens up to $k$ alone."""
    sizes = {"context": context, "width": width, "heads": heads, "layers": layers, "causal": causal}
    return text_evidence(TextModel.of(text_of(data), merges, rng, **sizes), steps, temperature, rng)
