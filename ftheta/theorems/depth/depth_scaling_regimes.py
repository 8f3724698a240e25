"""What deep residual networks tend to: with random weights nothing, a diffusion, or infinity; with smooth, a flow."""

from typing import Annotated

import numpy as np

from ftheta.estimates.means import LIMIT_THEOREM
from ftheta.limits.depth.regimes import FEWEST, longest, regime
from ftheta.limits.depth.scaling import RandomBlocks, layer_correlation, study
from ftheta.logic import Enclosure, Evidence, Finding, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Family, Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows


def random_networks(
    rng: np.random.Generator,
    *,
    beta: Annotated[float, Knob(0.1, 1.5, "exponent of the step L^(−β)", "β")] = 0.5,
    depth: Annotated[int, Knob(10, 400, "number of blocks", "L", log=True, least=4, most=4000)] = 100,
    dimension: Annotated[int, Knob(4, 64, "dimension of the state", "d", log=True, least=2, most=256)] = 32,
    relu: Annotated[bool, Knob(says="a He layer and ReLU inside each block", symbol="σ")] = False,
    correlation: Annotated[float, Knob(0, 1, "between the weights of neighbouring layers", "ρ")] = 0.0,
) -> Family:
    blocks = RandomBlocks(beta, dimension, relu, correlation)
    member = lambda L, rng: Network(f"{L} blocks", blocks.apply, blocks.weights(L, rng), (dimension,))
    return Family(f"random residual networks, β = {beta:g}, d = {dimension}", member, blocks, (depth,))


def blocks_of(family: Family) -> RandomBlocks:
    if isinstance(family.limit, RandomBlocks):
        return family.limit
    remedy = "give the Family limit=ftheta.limits.depth.scaling.RandomBlocks(exponent, dimension), or hand in a Network"
    raise SubjectError("The law of the family's weights is not known.", where=family.name, remedy=remedy)


@hypothesis(
    rf"blocks $x+v_k(x)$, of a network {FEWEST} or more of one kind",
    remedy=f"add skip connections, x + v(x): {FEWEST} blocks or more of one kind",
)
def deep_enough(subject: Family | Network) -> Finding:
    if isinstance(subject, Family):
        sure = subject.member(subject.scales[0], np.random.default_rng(0)).apply == blocks_of(subject).apply
        told = f"{subject.scales[-1]} blocks each"
        return Finding.sampled(f"{told}; those of its limit") if sure else Finding.assumed(told)
    if isinstance(read(subject), str):
        return residual_blocks.check(subject)
    chain = chain_of(subject)
    n = len(chain.stages[longest(chain)])
    return Finding.decide(
        n >= FEWEST, f"{n} blocks of one kind in a row; asked: {FEWEST}", "read off its graph", Enclosure.exact(n)
    )


@hypothesis("the weights of different layers are independent and centred", remedy="draw every layer anew")
def independent_weights(subject: Family | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.assumed("not asked of one network: how its blocks add up is measured")
    rho, error = layer_correlation(subject.member(subject.scales[-1], np.random.default_rng(0)).params)
    note = f"the correlation of neighbouring layers is {rho:.4f}, {abs(rho) / error:.1f} standard errors off 0"
    pairs = round(error**-2)
    found = Enclosure.approximate(rho, 6 * error, samples=pairs, nominal=1 - 1e-6, assuming=LIMIT_THEOREM)
    return (Finding.sampled if abs(rho) <= 6 * error else Finding.failed)(note, found)


@theorem(
    title="Residual networks of infinite depth: identity, flow, diffusion, explosion",
    sources=("seed 0", "marion2025", "cont2022"),
    assumes=(deep_enough, independent_weights),
    on=random_networks,
    breaks_on=lambda rng: random_networks(rng, correlation=1.0),
    unbreakable="the moments are means over draws: a sample contradicts them without a witness to check again",
    presets={
        "textbook": {},
        "identity": {"beta": 1.0},
        "explosion": {"beta": 0.25, "dimension": 64},
        "ReLU after He weights": {"relu": True},
        "broken on purpose": {"correlation": 0.9},
    },
    errata=r"seed 0 gives $dx=v\,dt+dW$ for the step $T^{-1/2}$: with independent centred weights the limit has no "
    r"drift and its noise multiplies the state, $dH=d^{-1/2}(dB)\,\sigma(H)$; only random biases add noise.",
)
def depth_scaling_regimes(
    subject: Family | Network,
    rng: np.random.Generator,
    *,
    draws: Annotated[int, Knob(50, 1000, "networks, or random signs", "S", log=True, least=16, most=10_000)] = 200,
) -> Evidence:
    r"""Let $h_{k+1}=h_k+\alpha_LV_{k+1}\sigma(h_k)$, $k<L$, with independent centred entries of variance $\frac1d$. The
    limit is governed by $L\alpha_L^2$: if it tends to 0, the identity; to $\infty$, an explosion; for
    $\alpha_L=L^{-1/2}$ the diffusion $dH=\frac1{\sqrt d}\,(dB)\,\sigma(H)$. Where $\sigma$ keeps the norm in the mean,
    $$\mathbb E\|h_L\|^2=(1+\alpha_L^2)^L\|h_0\|^2,\qquad\log\frac{\|h_L\|^2}{\|h_0\|^2}\to
    \mathcal N\Big(1-\frac2d,\frac4d\Big)\text{ for }\alpha_L=L^{-1/2},\ \sigma(x)=x.$$
    Weights that are smooth in $k/L$ have a flow for limit, with $\alpha_L=\frac1L$. Where $\sigma$ acts on noise,
    $h_{k+1}=h_k+\sigma(L^{-1/2}(A_kh_k+b_k))$ with $\sigma(0)=0$, $\sigma'(0)=1$, the limit has the drift
    $\frac12\sigma''(0)\,q$ (Itô), $q$ the quadratic variation of the argument a unit of time."""
    if isinstance(subject, Network):
        chain = chain_of(subject)
        return regime(chain, chain.weights(subject.params), start_rows(subject, 16, rng), draws, rng).evidence()
    L = subject.scales[-1]
    return study(blocks_of(subject), [subject.member(L, rng).params for _ in range(draws)], L, rng)
