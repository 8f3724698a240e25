r"""A pre-norm transformer for text: tokens → embeddings + positions → blocks → scores of the next token.

A block is $x\mapsto x+\mathrm{MHA}(\mathrm{LN}x)$, then $x\mapsto x+\mathrm{MLP}(\mathrm{LN}x)$, of hidden width $4d$:
$12d^2+13d$ parameters with biases. The scores are products with the embeddings (tied weights).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.hurry import quick_compiler_options
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks.layers.layer import Dense
from ftheta.networks.layers.tokens import GELU, Attention, Embedding, LayerNorm

from .tokeniser import Tokeniser

KEPT = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
"""What a block keeps for its gradient: products with weights. To write all else to memory and read it again takes
longer than to compute it again."""
NORM = LayerNorm()
ACTIVATION = GELU()
SMALL = 200_000  # parameters of a model that takes longer to compile than to run


def block_parameters(width: int) -> int:
    r"""$12d^2+13d$: four $d\times d$ maps, two of $d\times4d$, all with biases, and two layer norms."""
    return 12 * width**2 + 13 * width


@dataclass(frozen=True)
class Gpt:
    """The architecture; `apply(params, numbers)` are the scores of the next token after every token."""

    vocabulary: int
    context: int
    width: int = 64
    heads: int = 4
    layers: int = 2
    causal: bool = True
    final_norm: bool = True
    tokeniser: Tokeniser | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if (
            min(self.vocabulary, self.context, self.width, self.heads, self.layers) < 1
            or self.width % self.heads
        ):
            raise UsageError(
                "The heads must divide the width, and all sizes be positive.", got=repr(self)
            )

    @cached_property
    def shapes(self) -> dict[str, Any]:
        """The layer table: the shape of every parameter, those of the blocks with a first axis for the layer.

        Weights are (outputs, inputs): the other way round XLA turns their gradients, a fifth of a training step.
        """
        tokens = (self.context, self.width)
        one = {
            "attention norm": NORM.arrays(tokens),
            **self.attention.arrays(tokens),
            "mlp norm": NORM.arrays(tokens),
            "mlp in": self.mlp[0].arrays(tokens),
            "mlp out": self.mlp[1].arrays(self.mlp[0].out(tokens)),
        }
        blocks = jax.tree.map(lambda leaf: (self.layers, *leaf.shape), one)
        first = jax.tree.map(lambda leaf: leaf.shape, self.embedding.arrays(tokens[:1]))
        last = jax.tree.map(lambda leaf: leaf.shape, NORM.arrays(tokens))
        return first | {"blocks": blocks} | ({"norm": last} if self.final_norm else {})

    @property
    def embedding(self) -> Embedding:
        return Embedding(self.vocabulary, self.width, self.context)

    @property
    def attention(self) -> Attention:
        return Attention(self.heads, self.causal)

    @property
    def mlp(self) -> tuple[Dense, Dense]:
        """Into the hidden width and out of it."""
        return Dense(4 * self.width), Dense(self.width)

    @property
    def parameters(self) -> int:
        return sum(int(np.prod(shape)) for shape in _leaves(self.shapes))

    @property
    def parameters_of_a_block(self) -> int:
        return sum(int(np.prod(shape)) for shape in _leaves(self.shapes["blocks"])) // self.layers

    def start(self, rng: np.random.Generator) -> dict[str, Any]:
        """Normal weights of deviation 0.02, as in GPT, smaller where residuals add up; gains 1, biases 0."""
        residual = 0.02 / np.sqrt(2 * self.layers)

        def draw(path: Any, shape: tuple[int, ...]) -> np.ndarray:
            name = path[-1].key
            last = path[-2].key if len(path) > 1 else ""
            if name in ("gain", "bias"):
                return np.full(shape, float(name == "gain"))
            return (residual if last in ("heads joined", "mlp out") else 0.02) * rng.normal(
                size=shape
            )

        return jax.tree_util.tree_map_with_path(
            draw, self.shapes, is_leaf=lambda leaf: isinstance(leaf, tuple)
        )

    def apply(self, params: Any, numbers: Any) -> Any:
        """Scores (n, vocabulary) for tokens (n,), n up to the context."""
        return self.look(params, numbers)[0]

    def look(self, params: Any, numbers: Any) -> tuple[Any, Any]:
        """The scores, and the attention weights (layers, heads, n, n) on the way to them."""
        self.ensure_fits(len(numbers))
        x = self.embedding(params, numbers)
        block = jax.checkpoint(self._block, policy=KEPT, prevent_cse=False)
        x, weights = jax.lax.scan(lambda x, p: block(p, x), x, params["blocks"])
        x = NORM(params["norm"], x) if self.final_norm else x
        return x @ params["tokens"].T, weights

    def ensure_fits(self, n: int) -> None:
        if n > self.context:
            raise SubjectError(
                "The sequence is longer than the context.",
                got=f"{n} tokens, a context of {self.context}",
                remedy="cut the sequence, or build the model with a longer context",
            )

    def _block(self, p: Any, x: Any) -> tuple[Any, Any]:
        y, weights = self.attention.look(p, NORM(p["attention norm"], x))
        x = x + y
        into, out = self.mlp
        hidden = ACTIVATION({}, into(p["mlp in"], NORM(p["mlp norm"], x)))
        return x + out(p["mlp out"], hidden), weights

    # -- text ----------------------------------------------------------------------------------------

    def windows(self, numbers: Any, most: int = 4096) -> tuple[np.ndarray, np.ndarray]:
        """All stretches of `context` tokens and the tokens that follow each, (m, context) twice; at most so many."""
        tokens = np.asarray(numbers, np.int64)
        count = len(tokens) - self.context
        if count < 1:
            raise SubjectError(
                "The text is not longer than the context.",
                got=f"{len(tokens)} tokens, a context of {self.context}",
                remedy="give a longer text, fewer merges, or a shorter context",
            )
        starts = np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))
        rows = starts[:, None] + np.arange(self.context + 1)
        return tokens[rows[:, :-1]], tokens[rows[:, 1:]]

    def sample(
        self,
        params: Any,
        prompt: Any,
        count: int,
        rng: np.random.Generator,
        temperature: float = 1.0,
    ) -> list[int]:
        """`count` more tokens after the prompt, each drawn from softmax(scores / temperature); 0 takes the largest."""
        tokens = [int(k) for k in prompt]
        self.ensure_fits(len(tokens))
        if not tokens:
            raise UsageError("A prompt has at least one token.")
        # one shape for all: what follows the last token is not seen by it
        look = compile_look(self)
        for _ in range(count):
            window = tokens[-self.context :]
            padded = np.zeros(self.context, np.int64)
            padded[: len(window)] = window
            last = np.asarray(look(params, padded)[0], np.float64)[len(window) - 1]
            if temperature <= 0:
                tokens.append(int(last.argmax()))
                continue
            p = np.exp((last - last.max()) / temperature)
            tokens.append(int(rng.choice(len(p), p=p / p.sum())))
        return tokens


@lru_cache(maxsize=8)
def compile_look(gpt: Gpt) -> Callable[[Any, Any], Any]:
    """`gpt.look`, compiled once for an architecture; in a hurry where it is small."""
    return jax.jit(
        gpt.look,
        compiler_options=dict(quick_compiler_options()) if gpt.parameters < SMALL else None,
    )


GPT1 = Gpt(vocabulary=40_478, context=512, width=768, heads=12, layers=12, final_norm=False)
"""The architecture of GPT-1 as far as it has parameters (its blocks normalise after the residual)."""


def next_token_loss(scores: Any, targets: Any) -> Any:
    """The mean cross-entropy of the tokens that follow."""
    logs = jax.nn.log_softmax(scores, axis=-1)
    return -jnp.take_along_axis(
        logs, jnp.asarray(targets)[:, None].astype(jnp.int32), axis=-1
    ).mean()


def frequencies_loss(numbers: Any) -> float:
    """The cross-entropy of a model that knows the frequencies of tokens alone: their entropy."""
    _, counts = np.unique(np.asarray(numbers), return_counts=True)
    p = counts / counts.sum()
    return float(-(p * np.log(p)).sum())


def _leaves(table: Any) -> list[tuple[int, ...]]:
    return jax.tree.leaves(table, is_leaf=lambda leaf: isinstance(leaf, tuple))
