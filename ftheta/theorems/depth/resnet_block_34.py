"""Residual blocks: the identity at the start, gradients that neither vanish nor explode, and ResNet-34."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.limits.depth import stretching
from ftheta.limits.depth.invertible import block_constants
from ftheta.logic import Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks.architectures import resnet34
from ftheta.networks.architectures.counting import per_layer, same_counts
from ftheta.networks.architectures.identity import block_diagram, identity_at_start
from ftheta.subjects import Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows

ROWS = 8
STAGES = (3, 4, 6, 3)


def apply(params, x):
    for U, V in zip(*params):
        x = x + V @ jnp.tanh(U @ x)
    return x


def even_blocks(
    rng: np.random.Generator,
    *,
    depth: Annotated[int, Knob(2, 48, "blocks", "T", most=64)] = 10,
    width: Annotated[int, Knob(2, 32, "width", "d")] = 8,
    c: float = 1.0,
    weights: Annotated[str, Knob(says="of the blocks", choices=("expanding", "contracting", "random"))] = "expanding",
) -> Network:
    Q = np.linalg.qr(rng.normal(size=(2, depth, width, width)))[0] * np.sqrt(c / depth)
    U, V = Q[0], Q[1] if weights == "random" else Q[0].swapaxes(1, 2) * (1 if weights == "expanding" else -1)
    return Network(f"{depth} blocks of width {width}, {weights}", apply, (U, V), (width,))


@hypothesis(r"$\mathrm{Lip}(v_k)\le c/T$ for every block, and $c<T$", remedy="scale the blocks by 1/T, or raise `c`")
def gentle(net: Network, *, c: float) -> Finding:
    chain = read(net)
    if isinstance(chain, str):
        return Finding.failed(chain)
    found = block_constants(chain, chain.weights(net.params), start_rows(net, ROWS, np.random.default_rng(0)))
    worst = max((s.bound for s in found), key=lambda bound: bound.hi)
    note = f"T·Lip(v_k) is at most {chain.blocks * worst.hi:.6g}, T = {chain.blocks}; asked: at most c = {c:g} < T"
    holds = worst.hi * chain.blocks <= c * (1 + 1e-9) and c < chain.blocks
    return Finding.decide(holds, note, "bounds rounded up", Enclosure.at_most(chain.blocks * worst.hi))


@theorem(
    title="Residual blocks and ResNet-34",
    sources=("seed 0", "seed 4", "he2016", "he2016identity"),
    assumes=(residual_blocks, gentle),
    on=even_blocks,
    breaks_on=lambda rng: even_blocks(rng, c=3.0),
    presets={
        "textbook": {},
        "contracting": {"weights": "contracting"},
        "deep and random": {"depth": 48, "weights": "random", "c": 2.0},
        "at the edge": {"depth": 2, "c": 1.9, "weights": "contracting"},
        "broken on purpose": {"depth": 2, "c": 3.0},
    },
    errata="Seed 4 exchanges the roles of $U$ and $V$ between two lines; here $v(x)=V\\sigma(Ux)$, as in its first.",
)
def resnet_block_34(
    net: Network,
    rng: np.random.Generator,
    *,
    c: Annotated[float, Knob(0.1, 4, "T times the Lipschitz constant of a block", "c", least=1e-3, most=100)] = 1.0,
) -> Evidence:
    r"""A residual block is $x_{k+1}=x_k+v_{\theta_k}(x_k)$, $v(x)=V\sigma(Ux)$. If $V=0$ it is the identity, with
    Jacobian $I$. If $v_k$ is $\frac cT$-Lipschitz, $c<T$, the singular values of the Jacobian of $T$ blocks lie in
    $$\Big[\big(1-\tfrac cT\big)^T,\ \big(1+\tfrac cT\big)^T\Big],$$ those of $T$ layers $v_k$ alone below $(c/T)^T$.
    ResNet-34 has stages of 3, 4, 6, 3 blocks of two convolutions, $1+32+1$ weighted layers, 21 797 672 parameters."""
    chain, exact, famous = chain_of(net), Enclosure.exact, resnet34()
    rows = np.concatenate([np.zeros((1, *net.input_shape)), start_rows(net, ROWS, rng)])
    found = stretching.stretches(chain, net.params, rows, c / chain.blocks)
    T, layers = chain.blocks, 1 + 2 * sum(STAGES) + 1
    lo, hi = (1 - c / T) ** T, (1 + c / T) ** T
    largest, smallest = max(s.factors[0].max() for s in found), min(s.factors[1].min() for s in found)
    claims = [
        claim
        for k, s in enumerate(found, 1)
        for claim in s.claims(f"of stage {k}" if len(found) > 1 else "of the blocks")
    ]
    claims += [*identity_at_start(rng), *same_counts(famous)]
    claims.append(
        Identity("weighted layers: 1 + 2·(3 + 4 + 6 + 3) + 1, in the table", exact(layers), exact(famous.depth))
    )
    numbers = {"(1 − c/T)^T": lo, "(1 + c/T)^T": hi, "largest stretching": largest, "smallest stretching": smallest}
    return Evidence(
        tuple(claims),
        (block_diagram(), stretching.against_depth(found), per_layer(famous)),
        numbers | {"parameters of ResNet-34": exact(famous.parameters), "weighted layers": exact(famous.depth)},
        (famous.table(),),
        summary=f"{T} blocks stretch by {smallest:.6g} to {largest:.6g}, the bounds are {lo:.6g} and {hi:.6g}; "
        f"without the identity they stretch by at most {found[0].plain:.2g}",
    )
