"""What is measured on a module of torch: units on the batch that passes, gradients that are there, one step of a power
iteration. Parameters, gradients, modes and random states are left as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

RELUS = {F.relu, F.relu_, F.relu6, torch.relu, torch.relu_, torch.Tensor.relu, torch.Tensor.relu_}
FIRST_ITERATIONS = 8  # of the power iteration; one at every look afterwards


class _UnitWatch(TorchFunctionMode):
    """Notes for every ReLU that is evaluated, as a module or as a function, the share of its units that are dead."""

    def __init__(self) -> None:
        super().__init__()
        self.dead: dict[str, float] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func in RELUS and found.ndim > 1:
            self.dead[f"ReLU {len(self.dead) + 1}"] = _dead_share(found.detach())
        return found


def _dead_share(out: torch.Tensor) -> float:
    """Of channels (axis 1 of images), of features (the last axis of rows and sequences)."""
    axis = 1 if out.ndim >= 4 else out.ndim - 1
    others = [k for k in range(out.ndim) if k != axis]
    return float((out.amax(others) <= 0).float().mean())


class UnitProbe:
    """Watches the ReLUs of the next forward pass of a module, and of no other."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._watch = _UnitWatch()
        self._inside = False
        self._hooks = [
            module.register_forward_pre_hook(self._enter),
            module.register_forward_hook(self._leave, always_call=True),
        ]

    def _enter(self, module: torch.nn.Module, args: Any) -> None:
        self._watch.dead.clear()
        self._watch.__enter__()
        self._inside = True

    def _leave(self, module: torch.nn.Module, args: Any, out: Any) -> None:
        if self._inside:
            self._inside = False
            self._watch.__exit__(None, None, None)

    def close(self) -> dict[str, float]:
        """What was seen; the module is as before."""
        for hook in self._hooks:
            hook.remove()
        return dict(self._watch.dead)


def gradient_norms(module: torch.nn.Module) -> tuple[dict[str, float], float | None]:
    """The norm of the gradient of each parameter that has one, and that of the first matrix ÷ that of the last."""
    known = [(name, p.grad, p.ndim) for name, p in module.named_parameters() if p.grad is not None]
    if not known:
        return {}, None
    norms = torch.stack([grad.detach().norm() for _, grad, _ in known]).tolist()
    matrices = [norm for norm, (_, _, ndim) in zip(norms, known) if ndim > 1]
    ratio = matrices[0] / matrices[-1] if len(matrices) > 1 and matrices[-1] > 0 else None
    return {name: norm for norm, (name, _, _) in zip(norms, known)}, ratio


class SharpnessProbe:
    """The sharpness of `loss()` by a power iteration that goes on from look to look."""

    def __init__(self, module: torch.nn.Module, loss: Callable[[], torch.Tensor]) -> None:
        self.module = module
        self.loss = loss
        self._way: list[torch.Tensor] | None = None

    def look(self) -> float:
        """A Rayleigh quotient of the Hessian: at most its largest eigenvalue."""
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        rounds = 1
        if self._way is None:
            generator = torch.Generator().manual_seed(0)
            self._way = [torch.randn(p.shape, generator=generator).to(p) for p in parameters]
            rounds = FIRST_ITERATIONS
        with _evaluating(self.module), torch.enable_grad(), torch.random.fork_rng(devices=[]):
            slope = torch.autograd.grad(self.loss(), parameters, create_graph=True)
            for k in range(rounds):
                quotient = self._iterate(parameters, slope, last=k == rounds - 1)
        return quotient

    def _iterate(
        self, parameters: Sequence[torch.Tensor], slope: tuple[torch.Tensor, ...], *, last: bool
    ) -> float:
        assert self._way is not None
        size = torch.sqrt(sum(torch.sum(v**2) for v in self._way))  # type: ignore[arg-type]
        way = [v / size for v in self._way]
        product = torch.autograd.grad(
            slope, parameters, grad_outputs=way, retain_graph=not last, allow_unused=True
        )
        filled = [torch.zeros_like(v) if h is None else h for h, v in zip(product, way)]
        self._way = [h.detach() for h in filled] if any(bool(h.any()) for h in filled) else way
        return float(sum(torch.sum(v * h) for v, h in zip(way, filled)))


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode for a while: no statistics are updated, nothing is dropped."""
    modes = {part: part.training for part in module.modules()}
    try:
        yield module.eval()  # type: ignore[misc]
    finally:
        for part, mode in modes.items():
            part.training = mode


def stability_limit(optimiser: Any) -> tuple[float | None, float | None]:
    r"""The step size η and the largest stable sharpness: $2(1+\beta)/\eta-\lambda$ of gradient descent with momentum β
    and weight decay λ; none is known of methods that scale every coordinate.

    Of groups with steps of their own the smallest one counts: $P^{1/2}HP^{1/2}$ has an eigenvalue of
    $\min\eta\cdot\lambda_{\max}(H)$ or more, so that beyond this limit the steps are unstable for certain."""
    groups = getattr(optimiser, "param_groups", None)
    if not groups:
        return None, None
    step = max(float(group["lr"]) for group in groups)
    least = min(float(group["lr"]) for group in groups)
    others = any(
        group.get(name) for group in groups for name in ("nesterov", "dampening", "maximize")
    )
    if not isinstance(optimiser, torch.optim.SGD) or least <= 0 or others:
        return step, None
    momentum = max(float(group.get("momentum", 0.0)) for group in groups)
    decay = min(float(group.get("weight_decay", 0.0)) for group in groups)
    return step, 2 * (1 + momentum) / least - decay
