"""Not known: why Adam trains transformers faster than descent does. What can be measured in its place."""

from typing import Annotated

import numpy as np

from ftheta.limits.optimiser_race import Race, race_evidence
from ftheta.limits.tokens.text_study import TextModel
from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset
from ftheta.subjects.texts import longer_than_the_context, poem, text_of


@hypothesis("small transformers and short runs stand for large and long ones", remedy="none: evidence, not a theorem")
def the_proxy_stands(data: Dataset, *, steps: int, seeds: int) -> Finding:
    return Finding.assumed(f"one short text, {steps} steps, {seeds} seeds")


@theorem(
    title="Adam against descent on a transformer",
    sources=("seed 0", "seed 4", "kunstner2024", "zhang2020", "vaswani2017"),
    assumes=(longer_than_the_context, the_proxy_stands),
    on=poem,
    unbreakable="an open problem has no statement that could be broken: a proxy is consistent or inconclusive",
    presets={
        "textbook": {},
        "pieces of words": {"merges": 60, "width": 16},
        "two blocks, longer": {"layers": 2, "width": 32, "heads": 4, "context": 16, "steps": 60, "seeds": 3},
    },
)
def transformer_block_optimisers(
    data: Dataset,
    rng: np.random.Generator,
    *,
    merges: Annotated[int, Knob(0, 200, "pairs joined by the tokeniser", "m", most=2000)] = 0,
    context: Annotated[int, Knob(4, 32, "tokens seen at once", "n", log=True, least=2, most=64)] = 8,
    width: Annotated[int, Knob(8, 64, "numbers in a token", "d", log=True, least=4, most=128)] = 8,
    heads: Annotated[int, Knob(1, 8, "heads; they divide the width", "h", most=16)] = 2,
    layers: Annotated[int, Knob(1, 4, "blocks", "L", most=8)] = 1,
    rows: Annotated[int, Knob(4, 64, "stretches of the text, all seen at every step", "N", log=True, most=256)] = 6,
    steps: Annotated[int, Knob(20, 200, "training steps", "K", log=True, least=2, most=1000)] = 24,
    seeds: Annotated[int, Knob(2, 8, "starts of every rule with every step", "S", most=32)] = 5,
) -> Evidence:
    r"""Not known: why Adam, $\theta\leftarrow\theta-\alpha\frac{\hat m}{\sqrt{\hat v}+\varepsilon}$, trains
    transformers faster than descent $\theta\leftarrow\theta-\tau g$, with or without momentum. The proxy: a small
    transformer learns a text by each rule, from the same starts, with every step of a grid; $e_s$ is the loss of Adam
    at its best step less that of descent at its own, for start $s$, expected $\mathbb E\,e_s<0$. All rows are seen at
    every step: noise of batches plays no part. Its status is evidence, not theorem."""
    model = TextModel.of(text_of(data), merges, rng, context=context, width=width, heads=heads, layers=layers)
    chosen = np.linspace(0, len(model.x) - 1, min(rows, len(model.x))).astype(int)
    race = Race.of(model.gpt, model.x[chosen], model.y[chosen], steps, seeds, rng)
    return race_evidence(race, model.gpt.parameters, model.gpt.vocabulary)
