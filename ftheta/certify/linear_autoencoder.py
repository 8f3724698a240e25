"""The linear autoencoder: training by least squares in turn, its saddles, and data to try it on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Converges, Curves, Enclosure, Identity, Series
from ftheta.logic.chart import Role

from .low_rank import TIE, Decomposition, loss, second_minimiser, sine

BLURRED = 1e-6  # below this resolution a subspace that has stopped turning may still be far from its limit


@dataclass(frozen=True, eq=False)
class Trained:
    """A linear autoencoder: orthonormal `basis` of the code, `losses` after every sweep, whether it `settled`."""

    basis: np.ndarray
    losses: np.ndarray
    settled: bool


def train(X: np.ndarray, r: int, rng: np.random.Generator, sweeps: int, still: float = 1e-13) -> Trained:
    r"""Fit encoder $E$ and decoder $D$ of $\|X-XED\|_F^2$ by least squares in turn, from a random decoder.

    The best code for a decoder with orthonormal rows $Q^\top$ is $XQ$; the best decoder for that code spans
    $X^\top XQ$. It has `settled` when a sweep turns the code's subspace by less than `still`.
    """
    Q = np.linalg.qr(rng.normal(size=(X.shape[1], r)))[0]
    losses, total = [], float((X**2).sum())
    for _ in range(sweeps):
        code = np.linalg.qr(X @ Q)[0]
        decoder = code.T @ X
        losses.append(max(0.0, total - float((decoder**2).sum())))
        new = np.linalg.qr(decoder.T)[0]
        turned = float(np.linalg.norm(new - Q @ (Q.T @ new)))  # not less than the sine of the largest angle
        Q = new
        if turned <= still:
            break
    return Trained(Q, np.array(losses), turned <= still)


def critical_gradient(X: np.ndarray, basis: np.ndarray) -> float:
    r"""$\|\nabla\|X-XED\|_F^2\|$ at the encoder $E=Q$ and decoder $D=Q^\top$: zero at every eigen-subspace of $G$."""
    pull = -2 * X.T @ (X - (X @ basis) @ basis.T)
    return float(np.hypot(np.linalg.norm(pull @ basis), np.linalg.norm(basis.T @ pull)))


def way_down(found: Decomposition, r: int) -> tuple[float, float]:
    r"""From the critical subspace $v_1,\dots,v_{r-1},v_{r+1}$, turn $v_{r+1}$ towards $v_r$ with sine $\frac35$.

    Returns the drop of the loss, measured, and $\frac9{25}(\lambda_r-\lambda_{r+1})$.
    """
    V = found.V
    saddle = np.delete(V[:, : r + 1], r - 1, axis=1)
    turned = saddle.copy()
    turned[:, -1] = (4 * V[:, r] + 3 * V[:, r - 1]) / 5
    drop = loss(found.X, saddle) - loss(found.X, turned)
    return drop, float(9 * (found.sigma[r - 1] ** 2 - found.sigma[r] ** 2) / 25)


def linear_autoencoder(found: Decomposition, r: int, trained: Trained) -> tuple[Claim, ...]:
    """It has the least loss, its code is the top subspace, and the next critical point is a saddle with a way down."""
    equal, size = Enclosure.equal, float((found.sigma**2).sum())
    reached, tail, angle = loss(found.X, trained.basis), found.tail(r), sine(found.V[:, :r], trained.basis)
    (drop, formula), what = way_down(found, r), "sine of the largest angle of the trained code with v_1 … v_r"
    pull = critical_gradient(found.X, np.delete(found.V[:, : r + 1], r - 1, axis=1))
    zero, scales = Enclosure.exact(0), (float(len(trained.losses)),)
    learnt: tuple[Claim, ...] = (
        Identity("loss of the trained autoencoder and the tail Σσᵢ²", equal(reached), equal(tail), atol=1e-11 * size),
        Identity(what, equal(angle), zero, atol=1e-6, witness=second_minimiser(found, r)),
    )
    if not trained.settled or TIE < found.resolution(r) < BLURRED:  # nothing is known of the limit
        learnt = (
            AtMost("least loss, loss of the trained autoencoder", equal(tail), equal(reached), atol=1e-11 * size),
            Converges(what, zero, (equal(angle),), scales, within=1e-6),
        )
    return (
        *learnt,
        Identity("gradient at v_1 … v_(r−1), v_(r+1)", equal(pull), zero, atol=1e-11 * size),
        Identity("drop of the loss on the way down from there", equal(drop), equal(formula), atol=1e-12 * size),
    )


def pictures(found: Decomposition, r: int, trained: Trained, code: np.ndarray) -> tuple[Curves, ...]:
    """Singular values; error against rank; loss against sweeps; the code (one row a datum) along the data."""
    ranks, floor = np.arange(1, min(len(found.sigma), 50) + 1), 1e-16 * float(found.sigma[0])
    tails = np.maximum(np.sqrt([found.tail(int(k)) for k in ranks]), floor)
    errors = np.maximum([np.linalg.norm(found.X - found.truncated(int(k))) for k in ranks], floor)
    sweeps, rows = np.arange(1, len(trained.losses) + 1), np.arange(len(code))
    best, training = "tail of the singular values", (np.full(len(sweeps), found.tail(r)), trained.losses)
    return (
        Curves(
            "singular values",
            Axis("i"),
            Axis("σᵢ", "log"),
            (_series("σᵢ", ranks, np.maximum(found.sigma[: len(ranks)], floor), mark="points"),),
        ),
        Curves(
            "error against rank",
            Axis("rank r"),
            Axis("‖X − X_r‖", "log"),
            (_series(best, ranks, tails, "bound"), _series("measured", ranks, errors, mark="points")),
        ),
        Curves(
            "training of the autoencoder",
            Axis("sweep"),
            Axis("loss"),
            (_series("least loss", sweeps, training[0], "bound"), _series("measured", sweeps, training[1])),
        ),
        Curves(
            "code along the data",
            Axis("row"),
            Axis("code"),
            tuple(_series(f"code {k + 1}", rows, code[:, k]) for k in range(min(3, code.shape[1]))),
        ),
    )


def _series(name: str, x: np.ndarray, y: np.ndarray, role: Role = "measured", **marks: Any) -> Series:
    return Series(name, tuple(map(float, x)), tuple(map(float, y)), role, **marks)


SNAPSHOTS = ("travelling pulse", "circling pulse", "nearly tied", "diagonal 3 2 1")


def snapshots(kind: str, n: int, d: int) -> np.ndarray:
    """Data with a story: rows in the order of time."""
    t, x = np.linspace(0, 1, n)[:, None], np.linspace(0, 1, d)[None]
    match kind:
        case "travelling pulse":  # moves to the right and widens
            return np.exp(-(((x - 0.2 - 0.5 * t) / (0.1 * (1 + t))) ** 2))
        case "circling pulse":  # on a ring, one step a snapshot: every non-constant wave comes as a pair of equal size
            ring = np.minimum(np.arange(n), n - np.arange(n)) / n
            return np.array([np.roll(np.exp(-((ring / 0.1) ** 2)), k) for k in range(n)])
        case "nearly tied":
            return np.diag([4.0, 3.0, 2.0, 1.98, 1.0])
        case _:
            return np.diag([3.0, 2.0, 1.0])
