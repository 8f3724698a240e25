"""Not known: why Adam trains transformers faster than gradient descent does. What can be measured in its place."""

from typing import Annotated

import numpy as np

from ftheta.logic import (
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Exists,
    Finding,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks.transformers.text_model import TextModel
from ftheta.subjects import Dataset
from ftheta.subjects.texts import longer_than_the_context, poem, text_of
from ftheta.theorems.observations import ADAM, STATUS, Observed

from .optimiser_race import GRIDS, Race


@hypothesis(
    "small transformers and short runs stand for large and long ones",
    remedy="none: evidence, not a theorem",
)
def the_proxy_stands(data: Dataset, *, steps: int, seeds: int) -> Finding:
    return Finding.assumed(f"one short text, {steps} steps, {seeds} seeds")


@theorem(
    title="Adam against gradient descent on a transformer",
    sources=("peyre-slides", "peyre-notes", "kunstner2024", "zhang2020", "vaswani2017"),
    assumes=(longer_than_the_context, the_proxy_stands),
    on=poem,
    unbreakable="an open problem has no statement that could be broken: a proxy is consistent or inconclusive",
    presets={
        "textbook": {},
        "pieces of words": {"merges": 60, "width": 16},
        "two blocks, longer": {
            "layers": 2,
            "width": 32,
            "heads": 4,
            "context": 16,
            "steps": 60,
            "seeds": 3,
        },
    },
    gist="Adam trains transformers faster than gradient descent and nobody knows why; here both race on a small "
    "transformer, each at its best step size, so that the effect itself can be seen and varied.",
    see_also=("transformer-block", "open-problems-register", "adam"),
)
def transformer_block_optimisers(
    data: Dataset,
    rng: np.random.Generator,
    *,
    merges: Annotated[int, Knob(0, 200, "BPE merges", "m", most=2000)] = 0,
    context: Annotated[int, Knob(4, 32, "context length", "n", log=True, least=2, most=64)] = 8,
    width: Annotated[int, Knob(8, 64, "embedding dimension", "d", log=True, least=4, most=128)] = 8,
    heads: Annotated[int, Knob(1, 8, "heads; they divide the width", "h", most=16)] = 2,
    layers: Annotated[int, Knob(1, 4, "blocks", "L", most=8)] = 1,
    rows: Annotated[
        int, Knob(4, 64, "stretches of the text, all seen at every step", "N", log=True, most=256)
    ] = 6,
    steps: Annotated[int, Knob(20, 200, "training steps", "K", log=True, least=2, most=1000)] = 24,
    seeds: Annotated[int, Knob(2, 8, "starts of every rule with every step", "S", most=32)] = 5,
) -> Evidence:
    r"""Not known: why Adam, $\theta\leftarrow\theta-\alpha\frac{\hat m}{\sqrt{\hat v}+\varepsilon}$, trains
    transformers faster than gradient descent $\theta\leftarrow\theta-\tau g$, with or without momentum. The proxy: a
    small transformer learns a text by each rule, from the same starts, with every step of a grid; $e_s$ is the loss of
    Adam at its best step less that of gradient descent at its own, for start $s$, expected $\mathbb E\,e_s<0$. All rows
    are seen at every step: noise of batches plays no part. Its status is evidence, not theorem."""
    model = TextModel.build(
        text_of(data), merges, rng, context=context, width=width, heads=heads, layers=layers
    )
    chosen = np.linspace(0, len(model.x) - 1, min(rows, len(model.x))).astype(int)
    race = Race.run(model.gpt, model.x[chosen], model.y[chosen], steps, seeds, rng)
    return race_evidence(race, model.gpt.parameters, model.gpt.vocabulary)


def race_evidence(race: Race, parameters: int, vocabulary: int) -> Evidence:
    """Claims that a sample can at best agree with: an open problem has no theorem."""
    seeds, steps = race.losses.shape[2:]
    observations = [Observed(f"loss of Adam − of {rule}", gap) for rule, gap in race.gaps().items()]
    claims: tuple[Claim, ...] = tuple(
        Exists(f"{ADAM} a transformer: {o.what} < 0", o.witness, o.highest_mean, Enclosure.exact(0))
        for o in observations
    )
    numbers: dict[str, Enclosure | float] = {
        "parameters": Enclosure.exact(parameters),
        "seeds": Enclosure.exact(seeds),
        "all tokens alike": float(np.log(vocabulary)),
        "frequencies": race.entropy,
    }
    for rule in GRIDS:
        ends = race.ends(rule)
        if np.isfinite(ends).all():
            numbers[f"loss of {rule}"] = Enclosure.measured(float(ends.mean()), samples=seeds)
    effects = [
        f"{o.what} {o.effects.mean():.3g} in {o.agree:.0%} of the seeds" for o in observations
    ]
    return Evidence(
        claims,
        (draw_step_sizes(race), _draw_courses(race)),
        numbers,
        (best_steps(race),),
        summary=f"after {steps} steps, each rule at its best step: {', '.join(effects)}; {STATUS}",
    )


def draw_step_sizes(race: Race) -> Curves:
    """The last loss against the step; a run that diverged is not drawn."""
    series = []
    for (rule, grid), losses in zip(GRIDS.items(), race.losses):
        last = losses[..., -1]
        ok = np.isfinite(last).all(1) & (last.max(1) < 2 * losses[:, :, 0].max())
        series.append(_draw_band(rule, grid[ok], last[ok].T))
    axes = (Axis("step", "log"), Axis("loss (band: all starts)"))
    return Curves("loss after training against the step", *axes, tuple(series))


def _draw_courses(race: Race) -> Curves:
    k = np.arange(1, race.losses.shape[-1] + 1)
    series = [
        _draw_band(rule, k, course)
        for rule, course in race.best.items()
        if np.isfinite(course).all()
    ]
    series.append(Series("frequencies", (1, len(k)), (race.entropy, race.entropy), "reference"))
    axes = (Axis("training step"), Axis("loss (band: all starts)"))
    return Curves("each rule at its best step", *axes, tuple(series))


def _draw_band(name: str, x: np.ndarray, values: np.ndarray) -> Series:
    """The mean over seeds (first axis) between the least and the largest."""
    return Series(name, x, values.mean(0), lo=values.min(0), hi=values.max(0))


def best_steps(race: Race) -> Table:
    """Of every rule: its best step, the losses after it, and whether it lies inside the grid."""
    rows = []
    for (rule, grid), losses in zip(GRIDS.items(), race.losses):
        last = np.where(np.isfinite(losses[..., -1]), losses[..., -1], np.inf)
        k = int(last.mean(1).argmin())
        inside = "yes" if 0 < k < len(grid) - 1 else "no: an end of the grid"
        rows.append(
            (
                rule,
                float(grid[k]),
                float(last[k].mean()),
                float(last[k].min()),
                float(last[k].max()),
                inside,
            )
        )
    return Table(
        "best steps",
        ("rule", "step", "mean loss", "least", "largest", "inside the grid"),
        tuple(rows),
    )
