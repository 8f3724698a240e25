"""A transformer on a text: its parameters counted, its layer norm, what its mask hides, training, and a sample."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ftheta.logic import Axis, Chart, Claim, Curves, Dag, Enclosure, Exists, Heatmap, Identity, Series, Table, Witness
from ftheta.logic.chart import Vertex
from ftheta.networks.transformers.gpt import (
    GPT1,
    Gpt,
    block_parameters,
    compiled,
    frequencies_loss,
    layer_norm,
    next_token_loss,
)
from ftheta.networks.transformers.heads import attention_in
from ftheta.networks.transformers.tokeniser import Tokeniser
from ftheta.training import fit

NEAR = 1e-9
BATCH = 16
STEP = 3e-3
exact = Enclosure.exact


@dataclass(frozen=True, eq=False)
class TextModel:
    """A transformer with its parameters, on stretches of tokens (m, context) and the tokens that follow them."""

    gpt: Gpt
    params: Any
    x: np.ndarray
    y: np.ndarray

    @property
    def tokeniser(self) -> Tokeniser:
        assert self.gpt.tokeniser is not None
        return self.gpt.tokeniser

    @cached_property
    def text(self) -> str:
        """As much of the text as the stretches are: the first of each, and the last whole."""
        return self.tokeniser.decode([*self.x[:-1, 0], *self.x[-1], self.y[-1, -1]])

    # -- counts ----------------------------------------------------------------------------------------

    def counts(self) -> tuple[Claim, ...]:
        """The arrays themselves counted, beside the formulas."""
        g, d = self.gpt, self.gpt.width
        sizes = lambda tree: sum(np.size(leaf) for leaf in jax.tree.leaves(tree))
        whole = (g.vocabulary + g.context) * d + g.layers * block_parameters(d) + 2 * d * g.final_norm
        large = (GPT1.vocabulary + GPT1.context) * 768 + 12 * block_parameters(768)
        return (
            Identity("parameters of a block and 12d² + 13d", exact(sizes(self.params["blocks"]) // g.layers),
                     exact(block_parameters(d))),
            Identity("parameters and (V + n)d + L(12d² + 13d) + 2d", exact(sizes(self.params)), exact(whole)),
            Identity("parameters in the layer table of GPT-1 and by the formula", exact(GPT1.parameters), exact(large)),
        )  # fmt: skip

    def round_trip(self) -> Claim:
        again = self.tokeniser.decode(self.tokeniser.encode(self.text))
        wrong = sum(a != b for a, b in zip(again, self.text)) + abs(len(again) - len(self.text))
        return Identity("characters lost by encoding and decoding", exact(wrong), exact(0))

    # -- layer norm and mask -----------------------------------------------------------------------------

    def norms(self, rng: np.random.Generator) -> tuple[tuple[Claim, ...], Claim]:
        """Layer norm has mean 0 and deviation 1; divided by the norm instead, as one source prints, 1/√d."""
        x = 2 + 3 * rng.normal(size=(64, self.gpt.width))
        y = np.asarray(layer_norm(x, epsilon=0.0))
        centred = x - x.mean(1, keepdims=True)
        printed = float((centred / np.linalg.norm(centred, axis=1, keepdims=True)).std(1).mean())
        off = Enclosure.measured(float(np.abs(y.mean(1)).max()), samples=len(x))
        spread = Enclosure.measured(float(y.std(1)[np.abs(y.std(1) - 1).argmax()]), samples=len(x))
        return (
            Identity("mean after layer norm, the largest", off, exact(0), atol=NEAR),
            Identity("deviation after layer norm", spread, exact(1)),
        ), Identity("deviation if the centred vector is divided by its norm", Enclosure.equal(printed), exact(1))

    @cached_property
    def leak(self) -> tuple[float, int]:
        """How much the scores before a token change when it and all later ones change, and at which token most."""
        x, n = self.x[0], self.gpt.context
        scores = compiled(self.gpt)
        first = np.asarray(scores(self.params, x))
        changes = []
        for k in range(1, n):
            other = np.where(np.arange(n) < k, x, (x + 1) % self.gpt.vocabulary)
            changes.append(float(np.abs(np.asarray(scores(self.params, other)) - first)[:k].max()))
        k = int(np.argmax(changes))
        return changes[k], k + 1

    def causality(self) -> Claim:
        change, k = self.leak
        known = Enclosure.measured(change, samples=self.gpt.context - 1)
        witness = None
        if change > NEAR:
            other = np.where(np.arange(self.gpt.context) < k, self.x[0], (self.x[0] + 1) % self.gpt.vocabulary)
            with jax.disable_jit():
                both = [np.asarray(self.gpt.apply(self.params, tokens))[:k] for tokens in (self.x[0], other)]
            again = Enclosure.equal(float(np.abs(both[0] - both[1]).max()))
            witness = Witness({"first token that changes": float(k)}, again, exact(0), "one operation at a time")
        what = "change of scores when later tokens change"
        return Identity(what, known, exact(0), witness, atol=NEAR)

    # -- training ----------------------------------------------------------------------------------------

    def trained(self, steps: int) -> "Trained":
        run = fit((jax.tree.map(lambda a: np.asarray(a, np.float32), self.params), self.gpt.apply),
                  (self.x, self.y), next_token_loss, "adam", step=STEP, steps=steps, batch=min(BATCH, len(self.x)),
                  progress=False)  # fmt: skip
        return Trained(self, run.params, np.asarray(run.history.loss, float))

    @cached_property
    def entropy(self) -> float:
        return frequencies_loss(self.y[:, -1])


@dataclass(frozen=True, eq=False)
class Trained:
    model: TextModel
    params: Any
    losses: np.ndarray

    @property
    def last(self) -> float:
        """The mean loss of the last tenth of the steps."""
        return float(self.losses[-max(1, len(self.losses) // 10) :].mean())

    def claim(self) -> Claim:
        found = {"steps": float(len(self.losses)), "width": float(self.model.gpt.width)}
        known = Enclosure.measured(self.last, samples=len(self.losses))
        return Exists(
            "parameters with a loss below that of frequencies", found, known, Enclosure.equal(self.model.entropy)
        )

    def sample(self, rng: np.random.Generator, count: int, temperature: float) -> str:
        """The first token of the text and what the model says comes after it."""
        wide = jax.tree.map(lambda a: np.asarray(a, np.float64), self.params)  # as it is compiled already
        tokens = self.model.gpt.sample(wide, self.model.x[0][:1], count, rng, temperature)
        return self.model.tokeniser.decode(tokens)

    def charts(self) -> tuple[Chart, ...]:
        g, k = self.model.gpt, np.arange(1, len(self.losses) + 1)
        level = lambda name, value: Series(name, (1, len(k)), (value, value), "reference")
        lines = (level("all tokens alike", float(np.log(g.vocabulary))), level("frequencies", self.model.entropy))
        course = Curves(
            "cross-entropy of the next token", Axis("step"), Axis("loss"), (*lines, Series("loss", k, self.losses))
        )
        wide = jax.tree.map(lambda a: np.asarray(a, np.float64), self.params)
        x = self.model.x[0].astype(np.float64)
        A = attention_in(g.apply, wide, jax.ShapeDtypeStruct(x.shape, x.dtype)).at(x)[-1][0][0]
        where = (0.5, len(x) + 0.5, 0.5, len(x) + 0.5)
        seen = Heatmap(
            "attention of a head of the last block", Axis("token looked at"), Axis("token"), A, where, "weight"
        )
        return pipeline(self.model), course, seen


def pipeline(model: TextModel) -> Dag:
    """From text to the next token."""
    g, split = model.gpt, model.tokeniser.split(model.text)[:5]
    told = lambda pieces: " ".join(f"{piece!r}" for piece in pieces)
    steps = (
        Vertex("text", "text", f"{len(model.text):,} characters"),
        Vertex("tokens", "tokens", told(split[:3]) + " …"),
        Vertex("embedding", "embedding", f"{g.vocabulary} × {g.width}"),
        Vertex("positions", "positions", f"{g.context} × {g.width}"),
        Vertex("sum", "+"),
        Vertex("attention", f"x + MHA(LN x), ×{g.layers}", f"{g.heads} heads" + (", causal" if g.causal else "")),
        Vertex("mlp", f"x + MLP(LN x), ×{g.layers}", f"{g.width}–{4 * g.width}–{g.width}"),
        Vertex("scores", "scores", f"{g.vocabulary} of the next token"),
    )
    edges = (("text", "tokens"), ("tokens", "embedding"), ("embedding", "sum"), ("positions", "sum"),
             ("sum", "attention"), ("attention", "mlp"), ("mlp", "scores"))  # fmt: skip
    return Dag("from text to the next token", steps, edges)


def pieces_table(model: TextModel) -> Table:
    split = model.tokeniser.split(model.text)[:16]
    return Table("first tokens", ("piece", "number"), tuple((repr(p), model.tokeniser.numbers[p]) for p in split))
