"""A watch as a callback of Lightning, which is not imported for it: it is there when someone trains with it."""

import sys
from collections.abc import Callable
from typing import Any

from ftheta.logic.errors import UsageError

from .watch import Watch, watch

_HOMES = ("lightning.pytorch", "pytorch_lightning")


def lightning_callback(*, loss: Callable[[Any], Any] | None = None, **options: Any) -> Any:
    """`Trainer(callbacks=[ft.lightning_callback()])`: `ft.watch` over the training of a LightningModule.

    `loss` evaluates the loss of the module that it is given on a fixed batch, for the sharpness. The `options` are
    those of `ft.watch`.
    """
    return _callback_class()(loss, options)


def _callback_class() -> Any:
    """A subclass of Lightning's `Callback`, whichever of its two packages is imported."""
    for home in _HOMES:
        base = getattr(sys.modules.get(home), "Callback", None)
        if base is not None:
            return type("WatchCallback", (_WatchCallback, base), {})
    remedy = "import lightning.pytorch (or pytorch_lightning) first; for a loop of your own, ft.watch(model, optimiser)"
    raise UsageError(
        "Lightning is not imported.", got=f"none of {', '.join(_HOMES)}", remedy=remedy
    )


class _WatchCallback:
    """The hooks of a callback that are used."""

    def __init__(self, loss: Callable[[Any], Any] | None, options: dict[str, Any]) -> None:
        self.loss = loss
        self.options = options
        self.watch: Watch | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        optimiser = trainer.optimizers[0] if trainer.optimizers else None
        loss = None if self.loss is None else lambda: self.loss(pl_module)  # type: ignore[misc]
        self.watch = watch(pl_module, optimiser, loss=loss, **self.options)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert self.watch is not None
        self.watch.step(outputs.get("loss") if isinstance(outputs, dict) else outputs)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        assert self.watch is not None
        self.watch.close()
