"""A transformer on a text: its parameters counted, its layer norm, what its mask hides, training, and a sample."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flint import arb

from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.graph.hurry import hurried
from ftheta.logic import (
    Axis,
    Chart,
    Claim,
    Curves,
    Dag,
    Enclosure,
    Evidence,
    Exists,
    Heatmap,
    Identity,
    Series,
    Table,
    Vertex,
    Witness,
)
from ftheta.networks.architectures import gpt1
from ftheta.networks.transformers.gpt import (
    GPT1,
    Gpt,
    block_parameters,
    compiled,
    frequencies_loss,
    layer_norm,
    next_token_loss,
)
from ftheta.networks.transformers.tokeniser import Tokeniser, tokenised
from ftheta.training.batches import Batches
from ftheta.training.program import Chunk, Problem

NEAR = 1e-9
BATCH, STEP = 8, 5e-3
PLACES = 15  # at which later tokens are changed
PROMPT, SAID = 4, 60  # tokens that are given, and that are said
WORK = 1e12  # multiplications that one training may take
SHORT = 1e10  # those of one that is compiled in a hurry
exact = Enclosure.exact


@dataclass(frozen=True, eq=False)
class TextModel:
    """A transformer with its first parameters, and a text as stretches of tokens (m, context) and what follows them."""

    gpt: Gpt
    params: Any
    text: str
    tokens: int
    x: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, text: str, merges: int, rng: np.random.Generator, **sizes: Any) -> "TextModel":
        tokeniser, numbers = tokenised(text, merges)
        gpt = Gpt(len(tokeniser), tokeniser=tokeniser, **sizes)
        return cls(gpt, gpt.start(rng), text, len(numbers), *gpt.windows(numbers))

    @property
    def tokeniser(self) -> Tokeniser:
        assert self.gpt.tokeniser is not None
        return self.gpt.tokeniser

    # -- counts ----------------------------------------------------------------------------------------

    def counts(self) -> tuple[Claim, ...]:
        """The arrays themselves counted, and GPT-1 by its rows of layers, beside the formulas."""
        g, d = self.gpt, self.gpt.width
        whole = (g.vocabulary + g.context) * d + g.layers * block_parameters(d) + 2 * d
        large = (GPT1.vocabulary + GPT1.context) * GPT1.width + GPT1.layers * block_parameters(GPT1.width)
        return (
            Identity("parameters of a block and 12d² + 13d", exact(_size(self.params["blocks"]) // g.layers),
                     exact(block_parameters(d))),
            Identity("parameters and (V + n)d + L(12d² + 13d) + 2d", exact(_size(self.params)), exact(whole)),
            Identity("parameters of GPT-1, layer by layer, and (V + n)d + L(12d² + 13d)", exact(gpt1().parameters),
                     exact(large)),
        )  # fmt: skip

    def calculator(self) -> Table:
        """Parameters part by part, beside those of GPT-1."""
        one, other = (_parts(g) for g in (self.gpt, GPT1))
        rows = tuple((part, one[part], other.get(part, 0)) for part in one)
        return Table("parameters", ("part", "here", "GPT-1"), (*rows, ("all", self.gpt.parameters, GPT1.parameters)))

    def round_trip(self) -> Claim:
        again = self.tokeniser.decode(self.tokeniser.encode(self.text))
        wrong = sum(a != b for a, b in zip(again, self.text)) + abs(len(again) - len(self.text))
        return Identity("characters lost by encoding and decoding", exact(wrong), exact(0))

    # -- layer norm and mask -----------------------------------------------------------------------------

    def norms(self, rng: np.random.Generator) -> tuple[tuple[Claim, ...], Claim]:
        """Layer norm has mean 0 and deviation 1; divided by the norm instead, as one source prints, 1/√d."""
        x = 2 + 3 * rng.normal(size=(64, self.gpt.width))
        y = np.asarray(call_compiled(lambda x: layer_norm(x, epsilon=0.0), x))
        printed = Enclosure.ball(1 / arb(self.gpt.width).sqrt())
        off = Enclosure.measured(float(np.abs(y.mean(1)).max()), samples=len(x))
        spread = Enclosure.measured(float(y.std(1)[np.abs(y.std(1) - 1).argmax()]), samples=len(x))
        return (
            Identity("mean after layer norm, the largest", off, exact(0), atol=NEAR),
            Identity("deviation after layer norm", spread, exact(1)),
        ), Identity("deviation if the centred vector is divided by its norm", printed, exact(1))

    def changed(self, k: int) -> np.ndarray:
        """The first stretch with token k and all later ones (from 0) replaced by others."""
        x = self.x[0]
        return np.where(np.arange(len(x)) < k, x, (x + 1) % self.gpt.vocabulary)

    def causality(self) -> Claim:
        """Scores before a place do not change with the tokens from there on."""
        look, n = compiled(self.gpt), self.gpt.context
        first = np.asarray(look(self.params, self.x[0])[0])
        places = np.unique(np.linspace(1, n - 1, min(PLACES, n - 1)).astype(int))
        found = [np.abs(np.asarray(look(self.params, self.changed(k))[0]) - first)[:k].max() for k in places]
        worst = int(np.argmax(found))
        known, witness = Enclosure.measured(float(found[worst]), samples=len(places)), None
        if found[worst] > NEAR:
            witness = self._leak(int(places[worst]))
        return Identity("change of scores when later tokens change", known, exact(0), witness, atol=NEAR)

    def _leak(self, k: int) -> Witness:
        """The change evaluated again, in intervals."""

        def change(params: Any, one: Any, other: Any) -> Any:
            return jnp.max(jnp.abs(self.gpt.apply(params, one) - self.gpt.apply(params, other))[:k])

        again = enclose_number(change, self.params, self.x[0], self.changed(k))
        return Witness({"first token that changes": float(k)}, again, exact(0), "both stretches, in intervals")

    # -- training ----------------------------------------------------------------------------------------

    def trained(self, steps: int) -> "Trained":
        """Adam on batches of stretches, in float32; fewer steps where so many would take too long."""
        batches = Batches(min(BATCH, len(self.x)), last="drop")
        a_step = 6 * self.gpt.parameters * batches.size * self.gpt.context
        steps = min(steps, batches.capacity, max(1, int(WORK / a_step)))
        roll = _training(self.gpt, batches.capacity, steps * a_step < SHORT)
        params = jax.tree.map(lambda a: np.asarray(a, np.float32), self.params)
        chunk = roll(params, self.x, self.y, batches.rows(len(self.x), 0, 0, steps), steps)
        return Trained(self, chunk.state.params, np.asarray(chunk.losses, float)[:steps])

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

    @property
    def known(self) -> Enclosure:
        return Enclosure.measured(self.last, samples=len(self.losses))

    def claim(self) -> Claim:
        found = {"steps": float(len(self.losses)), "width": float(self.model.gpt.width)}
        what = "weights that know more than frequencies: loss and entropy"
        return Exists(what, found, self.known, Enclosure.equal(self.model.entropy))

    @cached_property
    def wide(self) -> Any:
        """The parameters in float64, for which the model is compiled already."""
        return jax.tree.map(lambda a: np.asarray(a, np.float64), self.params)

    def sample(self, rng: np.random.Generator, temperature: float) -> str:
        """The first tokens of the text and what the model says comes after them."""
        tokens = self.model.gpt.sample(self.wide, self.model.x[0][:PROMPT], SAID, rng, temperature)
        return self.model.tokeniser.decode(tokens)

    def charts(self) -> tuple[Chart, ...]:
        g, k = self.model.gpt, np.arange(1, len(self.losses) + 1)
        level = lambda name, value: Series(name, (1, len(k)), (value, value), "reference")
        lines = (level("all tokens alike", float(np.log(g.vocabulary))), level("frequencies", self.model.entropy))
        course = Curves(
            "cross-entropy of the next token", Axis("step"), Axis("loss"), (*lines, Series("loss", k, self.losses))
        )
        A = np.asarray(compiled(g)(self.wide, self.model.x[0])[1])[-1, 0]
        where = (0.5, len(A) + 0.5, 0.5, len(A) + 0.5)
        seen = Heatmap(
            "attention of a head of the last block", Axis("token looked at"), Axis("token"), A, where, "weight"
        )
        return pipeline(self.model), course, seen


@lru_cache(maxsize=8)
def _training(gpt: Gpt, room: int, hurry: bool) -> Callable[..., Chunk]:
    """So many steps of Adam from the parameters, compiled once for an architecture."""
    problem = Problem(gpt.apply, next_token_loss, optax.with_extra_args_support(optax.adam(STEP)))
    roll = lambda params, x, y, rows, count: problem.roll(problem.start(params), x, y, rows, room, count)
    return jax.jit(roll, compiler_options=dict(hurried()) if hurry else None)


def _size(tree: Any) -> int:
    return sum(np.size(leaf) for leaf in jax.tree.leaves(tree))


def _parts(gpt: Gpt) -> dict[str, int]:
    """The layer table of the architecture, with the parameters of all its blocks in each part."""
    shapes = dict(gpt.shapes)
    parts = {"embeddings": shapes.pop("tokens"), "positions": shapes.pop("positions"), **shapes.pop("blocks")}
    count = lambda table: sum(int(np.prod(s)) for s in (table.values() if isinstance(table, dict) else (table,)))
    return {name: count(table) for name, table in (parts | {"last norm": shapes.get("norm", {})}).items()}


def pipeline(model: TextModel) -> Dag:
    """From text to the next token."""
    g, split = model.gpt, model.tokeniser.split(model.text[:200])
    told = "|".join(split[:8]).replace("\n", "↵")
    steps = (
        Vertex("text", "text", f"{len(model.text):,} characters"),
        Vertex("tokens", "tokens", f"{told}|…"),
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


def _lines(title: str, text: str) -> Table:
    return Table(title, ("text",), tuple((line,) for line in text.splitlines()))


def first_tokens(model: TextModel) -> Table:
    split = model.tokeniser.split(model.text[:200])[:16]
    return Table("first tokens", ("piece", "number"), tuple((repr(p), model.tokeniser.numbers[p]) for p in split))


def text_evidence(model: TextModel, steps: int, temperature: float, rng: np.random.Generator) -> Evidence:
    """Everything that is claimed of the model, and what it says after its training."""
    (norm, printed), trained = model.norms(rng), model.trained(steps)
    said = trained.sample(rng, temperature)
    known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(said, model.text)))
    return Evidence(
        (*model.counts(), model.round_trip(), *norm, model.causality(), trained.claim()),
        trained.charts(),
        {"parameters": exact(model.gpt.parameters), "parameters of a block": exact(model.gpt.parameters_of_a_block)}
        | {"block at d = 768": exact(block_parameters(768)), "GPT-1": exact(GPT1.parameters)}
        | {"tokens of the text": exact(model.tokens), "different tokens": exact(model.gpt.vocabulary)}
        | {"loss": trained.known, "characters said by heart": exact(known)},
        (_lines("a sample", said), first_tokens(model), model.calculator()),
        as_printed=(printed,),
        summary=f"{model.gpt.parameters:,} parameters; loss {trained.losses[0]:.3g} → {trained.last:.3g} in "
        f"{len(trained.losses):,} steps, {model.entropy:.3g} by frequencies",
    )
