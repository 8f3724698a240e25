"""A recurrent network is a dynamical system: gradients are products of Jacobians, and a contraction forgets."""

from typing import Annotated

import numpy as np

from ftheta.certify.recurrent import Cell, random_cell
from ftheta.certify.recurrent_study import recurrent_evidence
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS
from ftheta.subjects import Dataset, Network

LONGEST = 1000
SMOOTH = tuple(name for name in ACTIVATIONS if name != "square")


def cell(
    rng: np.random.Generator,
    *,
    hidden: int = 16,
    gain: float = 0.9,
    sigma: str = "tanh",
    inputs: Annotated[int, Knob(1, 8, "numbers that come in at every step", "d", most=64)] = 2,
) -> Network:
    layers = random_cell(rng, hidden, inputs, gain, sigma)
    return Network.described(layers, f"h ↦ {sigma}(Wh + Ux + b), ‖W‖ = {gain:g}")


def expanding(rng: np.random.Generator) -> Network:
    return cell(rng, gain=1.5)


def parts(subject: Network | Dataset, hidden: int, gain: float, sigma: str, steps: int) -> tuple[Cell, np.ndarray]:
    """The cell and the sequence that drives it: the user's, or a fixed random one."""
    rng = np.random.default_rng(0)
    if isinstance(subject, Dataset):  # one sequence a row (T, d); of plain rows, the rows themselves in time
        x = subject.x[0] if subject.x.ndim > 2 else subject.x
        xs = x.reshape(len(x), -1)[:LONGEST].astype(float)
        return Cell.random(rng, hidden, xs.shape[1], gain, sigma), xs
    found = Cell.of(subject)
    if subject.data is not None:  # rows (h, x) in time: the part after the state drives it
        return found, subject.data.x.reshape(len(subject.data), -1)[:LONGEST, found.hidden :]
    return found, 0.1 * rng.normal(size=(steps, found.inputs))


@hypothesis(
    r"$\|W\|\,\mathrm{Lip}\,\sigma<1$: every step brings two states closer",
    remedy="scale W down, or take an activation with a smaller slope",
)
def contracting(subject: Network | Dataset, *, hidden: int, gain: float, sigma: str, steps: int) -> Finding:
    found, xs = parts(subject, hidden, gain, sigma, steps)
    if found.contraction is not None:
        c = found.contraction
        return Finding.decide(
            c.hi < 1, f"c = {c.hi:.6g}", "norms rounded outward, slopes by name", c, basis=Basis.EXACT
        )
    J = found.jacobians(found.states(np.zeros(found.hidden), xs), xs)
    worst = max(float(np.linalg.norm(j, 2)) for j in J)
    note = f"largest ‖∂f/∂h‖ along {len(xs)} steps: {worst:.6g}"
    return Finding.sampled(note) if worst < 1 else Finding.failed(note)


@theorem(
    title="Recurrent networks as dynamical systems",
    sources=("seed 2", "werbos1990", "hochreiter1998", "pascanu2013", "jaeger2001", "boyd1985"),
    assumes=(contracting,),
    on=cell,
    breaks_on=expanding,
    presets={
        "textbook": {},
        "short memory": {"gain": 0.5},
        "at the edge": {"gain": 0.999, "steps": 200},
        "sigmoid": {"sigma": "sigmoid", "gain": 3.0},
        "large": {"hidden": 64, "inputs": 8, "steps": 100},
        "broken on purpose": {"gain": 1.5},
    },
    audited=False,
)
def rnn_dynamical(
    subject: Network | Dataset,
    rng: np.random.Generator,
    *,
    hidden: Annotated[int, Knob(1, 64, "size of the state, of the built-in cell", "n", log=True, most=200)] = 16,
    gain: Annotated[float, Knob(0.1, 2.0, "norm of its W", "‖W‖", most=10)] = 0.9,
    sigma: Annotated[str, Knob(says="its activation", symbol="σ", choices=SMOOTH)] = "tanh",
    steps: Annotated[
        int, Knob(5, 200, "steps in time, of the built-in sequence", "T", log=True, least=2, most=LONGEST)
    ] = 60,
) -> Evidence:
    r"""$h_{t+1}=\sigma(Wh_t+Ux_t+b)$, with the same weights at every time, is a dynamical system driven by $x$, and
    $$\frac{\partial h_T}{\partial h_0}=\prod_{t=T-1}^0D_tW,\qquad D_t=\operatorname{diag}\sigma'(Wh_t+Ux_t+b).$$
    Back-propagation through time is back-propagation in the network unrolled in time. If
    $c=\|W\|\,\mathrm{Lip}\,\sigma<1$ then $\|\partial h_T/\partial h_{T-k}\|\le c^k$, and two states driven by the same
    inputs meet: $\|h_t-h_t'\|\le c^t\|h_0-h_0'\|$ (fading memory). Linear networks with $\rho(W)>1$ have gradients that
    grow like $\rho(W)^k$."""
    return recurrent_evidence(*parts(subject, hidden, gain, sigma, steps), rng)
