"""A transformer trained on a text by Adam, and what it says afterwards."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

import jax
import numpy as np
import optax

from ftheta.graph.hurry import quick_compiler_options
from ftheta.networks.transformers.gpt import Gpt, next_token_loss
from ftheta.networks.transformers.text_model import TextModel
from ftheta.training.batches import Batches
from ftheta.training.program import Chunk, Problem

BATCH = 8
STEP = 5e-3
PROMPT = 4  # tokens that are given
SAID = 60  # tokens that are sampled after them
WORK = 1e12  # multiplications that one training may take
SHORT = 1e10  # those of one that is compiled in a hurry


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model, its parameters after training, and the loss of every step."""

    model: TextModel
    params: Any
    losses: np.ndarray

    @property
    def last_loss(self) -> float:
        """The mean loss of the last tenth of the steps."""
        return float(self.losses[-max(1, len(self.losses) // 10) :].mean())

    @cached_property
    def wide_params(self) -> Any:
        """The parameters in float64, for which the model is compiled already."""
        return jax.tree.map(lambda a: np.asarray(a, np.float64), self.params)

    def sample(self, rng: np.random.Generator, temperature: float) -> str:
        """The first tokens of the text and what the model says comes after them."""
        tokens = self.model.gpt.sample(
            self.wide_params, self.model.x[0][:PROMPT], SAID, rng, temperature
        )
        return self.model.tokeniser.decode(tokens)


def train(model: TextModel, steps: int) -> TrainedModel:
    """Adam on batches of stretches, in float32; fewer steps where so many would take too long."""
    batches = Batches(min(BATCH, len(model.x)), last="drop")
    a_step = 6 * model.gpt.parameters * batches.size * model.gpt.context
    steps = min(steps, batches.capacity, max(1, int(WORK / a_step)))
    roll = _compile_training(model.gpt, batches.capacity, steps * a_step < SHORT)
    params = jax.tree.map(lambda a: np.asarray(a, np.float32), model.params)
    chunk = roll(params, model.x, model.y, batches.rows(len(model.x), 0, 0, steps), steps)
    return TrainedModel(model, chunk.state.params, np.asarray(chunk.losses, float)[:steps])


@lru_cache(maxsize=8)
def _compile_training(gpt: Gpt, room: int, hurry: bool) -> Callable[..., Chunk]:
    """So many steps of Adam from the parameters, compiled once for an architecture."""
    problem = Problem(gpt.apply, next_token_loss, optax.with_extra_args_support(optax.adam(STEP)))

    def roll(params: Any, x: Any, y: Any, rows: Any, count: Any) -> Chunk:
        return problem.roll(problem.start(params), x, y, rows, room, count)

    return jax.jit(roll, compiler_options=dict(quick_compiler_options()) if hurry else None)


def count_memorised(said: str, text: str) -> int:
    """How many characters the sample and the text have in common from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(said, text)))
