"""A watch over a training loop of torch, or over `ft.fit`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from ftheta.logic.errors import UsageError
from ftheta.networks.modules import is_torch

from .log import Log
from .observation import Observation, describe_trouble
from .pace import Pace

SHARE = 0.03  # of the time of training


def watch(
    model: Any = None,
    optimiser: Any = None,
    *,
    loss: Callable[[], Any] | None = None,
    every: int | None = None,
    share: float = SHARE,
    file: str | Path | None = "watch.jsonl",
    page: str | Path | None = "watch.html",
) -> Watch:
    """Watch a training: dead units, gradient norms, and the sharpness against the limit of stability 2/η.

    Parameters
    ----------
    model, optimiser
        A module of torch and the optimiser that trains it; `watch.step(loss)` follows each of its steps. Without a
        model it is a watch for `ft.fit(…, watch=watch)`.
    loss
        A function without arguments that evaluates the loss of the module on a fixed batch, for the sharpness; it is
        called in evaluation mode. Without it no sharpness is measured. `ft.fit` has its own loss.
    every
        Look at every so many steps; as often as `share` allows, if not said.
    share
        How much of the time of training watching may take.
    file, page
        Where the lines of JSON and the page go; None for neither. In a notebook the page is shown as well.
    """
    if every is not None and every < 1:
        raise UsageError(
            "`every` is a number of steps.", got=every, remedy="give 1 or more, or nothing"
        )
    if not 0 < share <= 1:
        raise UsageError(
            "`share` is a part of the time of training.", got=share, remedy="0.03 is three per cent"
        )
    if model is not None and not is_torch(model):
        remedy = "give a module of torch; for ft.fit, ft.fit(net, data, watch=ft.watch())"
        raise UsageError(
            "A training loop of this kind is not watched.", got=type(model).__name__, remedy=remedy
        )
    named = "training" if model is None else type(model).__name__
    line_file, html_file = (None if path is None else Path(path) for path in (file, page))
    return Watch(model, optimiser, loss, Pace(share, every), Log(line_file, html_file, named))


class Watch:
    """What `ft.watch` returns. `observations` is all that was seen; `close` writes the page a last time."""

    def __init__(
        self, model: Any, optimiser: Any, loss: Callable[[], Any] | None, pace: Pace, log: Log
    ) -> None:
        self.model = model
        self.optimiser = optimiser
        self.steps = 0
        self.pace = pace
        self.log = log
        self._units: Any = None
        self._sharpness: Any = None
        self._fit_probe: Any = None
        if model is not None:
            from .torch_probe import SharpnessProbe, UnitProbe  # imports torch

            self._sharpness = None if loss is None else SharpnessProbe(model, loss)
            self._new_probe = lambda: UnitProbe(model)
            self._units = self._new_probe() if self.pace.is_due(1) else None

    @property
    def observations(self) -> list[Observation]:
        return self.log.observations

    @property
    def cost(self) -> float:
        """The share of the time of training that watching took."""
        return self.pace.cost

    def step(self, loss: Any = None) -> Observation | None:
        """After a step of the optimiser, whose `loss` may be given; what was seen, at the steps that are looked at.

        Call it before the gradients are zeroed.
        """
        if self.model is None:
            remedy = "give the module: ft.watch(model, optimiser)"
            raise UsageError("This watch has no module of torch.", got="ft.watch()", remedy=remedy)
        self.steps += 1
        begun = perf_counter()
        seen = None
        if self._units is not None:
            seen = self._look(loss)
            self.log.add(seen)
            self._units = None
            self.pace.charge(perf_counter() - begun)
        if self.pace.is_due(self.steps + 1):
            self._units = self._new_probe()
        return seen

    def _look(self, loss: Any) -> Observation:
        from .torch_probe import gradient_norms, stability_limit

        dead = self._units.close()
        gradients, ratio = gradient_norms(self.model)
        step_size, limit = stability_limit(self.optimiser)
        sharpness = None if self._sharpness is None else self._sharpness.look()
        value = None if loss is None else float(loss.detach() if hasattr(loss, "detach") else loss)
        notes = describe_trouble(dead, ratio, sharpness, limit)
        seconds = self.pace.training
        return Observation(
            self.steps,
            seconds,
            value,
            step_size,
            dead,
            gradients,
            ratio,
            sharpness,
            limit,
            self.cost,
            notes,
        )

    def follow_fit(
        self, step: int, loss: float, machine: Any, params: Any, step_size: float | None
    ) -> None:
        """Called by `ft.fit` between two chunks of steps."""
        if not self.pace.is_due(step) and self.observations:
            return
        from .fit_probe import FitProbe  # imports JAX

        if self._fit_probe is None:
            # compiled once, and not charged: neither is the training's own
            self._fit_probe = FitProbe(machine)
        begun = perf_counter()
        dead, gradients, ratio, sharpness = self._fit_probe.look(params)
        limit = None if step_size is None else 2 / step_size
        notes = describe_trouble(dead, ratio, sharpness, limit)
        seen = (
            step,
            self.pace.training,
            loss,
            step_size,
            dead,
            gradients,
            ratio,
            sharpness,
            limit,
            self.cost,
            notes,
        )
        self.log.add(Observation(*seen))
        self.pace.charge(perf_counter() - begun)

    def close(self) -> None:
        """Take the hooks away and write the page a last time."""
        if self._units is not None:
            self._units.close()
            self._units = None
        self.log.draw()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Watch({self.log.title!r}, {len(self.observations)} looks, {100 * self.cost:.1f} % of the training)"

    def _repr_html_(self) -> str:
        return self.log.html
