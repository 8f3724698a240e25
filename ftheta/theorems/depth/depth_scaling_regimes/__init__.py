"""What deep residual networks tend to: with random weights nothing, a diffusion, or infinity; with smooth, a flow."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np

from ftheta.estimates import mean
from ftheta.estimates.means import LIMIT_THEOREM
from ftheta.flows.regimes import FEWEST, Regime, measure_regime
from ftheta.logic import (
    AtMost,
    Claim,
    Converges,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    SubjectError,
    Table,
    hypothesis,
    theorem,
)
from ftheta.subjects import Family, Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows
from ftheta.theorems.orders import observed_order

from .charts import (
    EXPONENTS,
    draw_depth,
    draw_ends,
    draw_norm_laws,
    draw_paths,
    draw_regimes,
    draw_sums,
)
from .ito import BiasedEnds, draw_biased_ends, drift_gap, sum_moments
from .random_blocks import (
    NormDraws,
    RandomBlocks,
    draw_norms,
    fourth_moment,
    image_of_zero,
    layer_correlation,
    moments,
    smooth_distances,
)

DRAWS = 20_000  # of the law of norms
VARIATIONS = (1, 4)  # q: of biases alone, and of a state with ‖h‖² = 4d


def random_networks(
    rng: np.random.Generator,
    *,
    beta: Annotated[float, Knob(0.1, 1.5, "exponent of the step L^(−β)", "β")] = 0.5,
    depth: Annotated[
        int, Knob(10, 400, "number of blocks", "L", log=True, least=4, most=4000)
    ] = 100,
    dimension: Annotated[
        int, Knob(4, 64, "dimension of the state", "d", log=True, least=2, most=256)
    ] = 32,
    relu: Annotated[bool, Knob(says="a He layer and ReLU inside each block", symbol="σ")] = False,
    correlation: Annotated[
        float, Knob(0, 1, "between the weights of neighbouring layers", "ρ")
    ] = 0.0,
) -> Family:
    blocks = RandomBlocks(beta, dimension, relu, correlation)
    member = lambda L, rng: Network(
        f"{L} blocks", blocks.apply, blocks.weights(L, rng), (dimension,)
    )
    return Family(
        f"random residual networks, β = {beta:g}, d = {dimension}", member, blocks, (depth,)
    )


def blocks_of(family: Family) -> RandomBlocks:
    if isinstance(family.limit, RandomBlocks):
        return family.limit
    remedy = f"give the Family limit={RandomBlocks.__module__}.RandomBlocks(exponent, dimension), or hand in a Network"
    raise SubjectError(
        "The law of the family's weights is not known.", where=family.name, remedy=remedy
    )


@hypothesis(
    rf"blocks $x+v_k(x)$, of a network {FEWEST} or more of one kind",
    remedy=f"add skip connections, x + v(x): {FEWEST} blocks or more of one kind",
)
def at_least_eight_residual_blocks(subject: Family | Network) -> Finding:
    if isinstance(subject, Family):
        sure = (
            subject.member(subject.scales[0], np.random.default_rng(0)).apply
            == blocks_of(subject).apply
        )
        note = f"{subject.scales[-1]} blocks each"
        return Finding.sampled(f"{note}; those of its limit") if sure else Finding.assumed(note)
    if isinstance(read(subject), str):
        return residual_blocks.check(subject)
    chain = chain_of(subject)
    n = len(chain.stages[chain.longest_stage])
    return Finding.decide(
        n >= FEWEST,
        f"{n} blocks of one kind in a row; required: {FEWEST}",
        "read off its graph",
        Enclosure.exact(n),
    )


@hypothesis(
    "the weights of different layers are independent and centred",
    remedy="draw every layer anew",
    name="independent centred weights",
)
def independent_weights(subject: Family | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.assumed("not asked of one network: how its blocks add up is measured")
    rho, error = layer_correlation(
        subject.member(subject.scales[-1], np.random.default_rng(0)).params
    )
    note = f"the correlation of neighbouring layers is {rho:.4f}, {abs(rho) / error:.1f} standard errors off 0"
    pairs = round(error**-2)
    found = Enclosure.approximate(
        rho, 6 * error, samples=pairs, nominal=1 - 1e-6, assuming=LIMIT_THEOREM
    )
    return (Finding.sampled if abs(rho) <= 6 * error else Finding.failed)(note, found)


@theorem(
    title="Residual networks of infinite depth: identity, flow, diffusion, explosion",
    sources=("peyre-slides", "marion2025", "cont2022"),
    assumes=(at_least_eight_residual_blocks, independent_weights),
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
    gist="How small the blocks of a very deep residual network are decides what it becomes: the identity, a flow, a "
    "random diffusion or an explosion; so the scale of the initial weights must fit the depth.",
    see_also=("neural-ode-limit", "resnet-block-34", "signal-propagation-init"),
    errata=r"""Peyré's slides give $dx=v\,dt+dW$ for the step $T^{-1/2}$: with independent centred weights the limit has
    no drift and its noise multiplies the state, $dH=d^{-1/2}(dB)\,\sigma(H)$; only random biases add noise.""",
)
def depth_scaling_regimes(
    subject: Family | Network,
    rng: np.random.Generator,
    *,
    draws: Annotated[
        int, Knob(50, 1000, "networks, or random signs", "S", log=True, least=16, most=10_000)
    ] = 200,
) -> Evidence:
    r"""Let $h_{k+1}=h_k+\alpha_LV_{k+1}\sigma(h_k)$, $k<L$, with independent centred entries of variance $\frac1d$. The
    limit is governed by $L\alpha_L^2$: if it tends to 0, the identity; to $\infty$, an explosion; for
    $\alpha_L=L^{-1/2}$ the diffusion $dH=\frac1{\sqrt d}\,(dB)\,\sigma(H)$. Where $\sigma$ keeps the norm in the mean,
    $$\mathbb E\|h_L\|^2=(1+\alpha_L^2)^L\|h_0\|^2,\qquad\log\frac{\|h_L\|^2}{\|h_0\|^2}\to
    \mathcal N\Big(1-\frac2d,\frac4d\Big)\text{ for }\alpha_L=L^{-1/2},\ \sigma(x)=x.$$
    Weights that are smooth in $k/L$ have a flow for limit, with $\alpha_L=\frac1L$. Where $\sigma$ acts on noise,
    $h_{k+1}=h_k+\sigma(L^{-1/2}(A_kh_k+b_k))$ with $\sigma(0)=0$, $\sigma'(0)=1$, the limit has the drift
    $\frac12\sigma''(0)\,q$ (Itô), $q$ the quadratic variation of the argument per unit of time."""
    if isinstance(subject, Network):
        chain = chain_of(subject)
        rows = start_rows(subject, 16, rng)
        return _network_evidence(
            measure_regime(chain, chain.weights(subject.params), rows, draws, rng)
        )
    L = subject.scales[-1]
    members = [subject.member(L, rng).params for _ in range(draws)]
    return _family_evidence(blocks_of(subject), members, L, rng)


# -- one network -------------------------------------------------------------------------------------------


def _network_evidence(regime: Regime) -> Evidence:
    H = regime.field_exponent.middle
    return Evidence(
        (signs_claim(regime),),
        (draw_depth(regime), draw_sums(regime)),
        {
            "blocks L": float(regime.blocks),
            "size α of a block": regime.alpha,
            "exponent H of the residuals": regime.field_exponent,
            "exponent H of the weights": regime.weight_exponent,
            "β with α = L^(−β)": regime.beta,
            "Lα²": regime.blocks * regime.alpha**2,
            "α L^H": regime.displacement,
        },
        (_limits_table(regime),),
        summary=f"{regime.blocks} blocks of size α = {regime.alpha:.3g}, H = {H:.2f}: αL^H = "
        f"{regime.displacement:.3g}, nearest to: {regime.name}",
    )


def signs_claim(regime: Regime) -> Identity:
    what = "E‖x_L‖² = ‖x₀‖² + Σ E‖v_k(x_k)‖² under random signs of the blocks, gap over ‖x₀‖²"
    return Identity(what, mean(regime.flipped), Enclosure.exact(0))


def _limits_table(regime: Regime) -> Table:
    rows = (
        ("αL^H below 0.1", "identity"),
        ("H near ½", "diffusion (SDE)"),
        ("H near 1", "flow (ODE)"),
        ("αL^H above 10", "explosion"),
        ("this network", regime.name),
    )
    return Table("which limit", ("where", "limit"), rows)


# -- a family of random networks ---------------------------------------------------------------------------


def _family_evidence(
    blocks: RandomBlocks, members: Sequence[Any], depth: int, rng: np.random.Generator
) -> Evidence:
    """Everything about random networks of this depth; `members` are the weights of some."""
    norms = draw_norms(blocks, members, depth, DRAWS, rng)
    moment = moments(blocks.exponent, depth)[1]
    beta = blocks.exponent
    tends = (
        "1, the identity" if beta > 0.5 else "e, a diffusion" if beta == 0.5 else "∞, an explosion"
    )
    printed = "additive noise: E‖x(1)‖² from x(0) = 0"
    return Evidence(
        _norm_claims(norms),
        (draw_regimes(blocks, depth, rng), draw_norm_laws(norms)),
        {
            "E‖h_L‖²/‖h₀‖²": moment,
            "z-score over networks": norms.z,
            "Lα²": depth * blocks.alpha(depth) ** 2,
            **{f"second moment, {name}": moments(b, depth)[1] for b, name in EXPONENTS.items()},
            "E‖h_L‖⁴/‖h₀‖⁴": fourth_moment(blocks, depth),
        },
        as_printed=(
            Identity(printed, image_of_zero(blocks, members[0]), Enclosure.exact(blocks.dimension)),
        ),
        summary=f"the second moment grows by {moment.middle:.6g} over {depth} blocks ({norms.z:+.1f} standard errors "
        f"over {len(members)} networks); as L → ∞ it tends to {tends}",
        examples=partial(_examples, blocks.dimension, depth, rng.spawn(1)[0]),
    )


def _norm_claims(norms: NormDraws) -> tuple[Claim, ...]:
    """The moments of the norms, over networks and over draws of their law."""
    blocks = norms.blocks
    low, exact, high = moments(blocks.exponent, norms.depth)
    fourth = fourth_moment(blocks, norms.depth)
    variance = (fourth - exact * exact).hi
    claims: list[Claim] = [
        Identity("E‖h_L‖²/‖h₀‖² over networks", mean(norms.networks, variance=variance), exact),
        Identity(
            "E‖h_L‖²/‖h₀‖² over draws of the quotients", mean(norms.law, variance=variance), exact
        ),
        AtMost("1 + Lα² ≤ (1 + α²)^L", low, exact),
        AtMost("(1 + α²)^L ≤ exp(Lα²)", exact, high),
    ]
    heavy_tail = 16 * norms.depth * blocks.alpha(norms.depth) ** 2 > blocks.dimension
    if not heavy_tail:
        claims.append(
            Identity("E‖h_L‖⁴/‖h₀‖⁴ over draws of the quotients", mean(norms.law**2), fourth)
        )
    if not blocks.relu:
        centre, spread = blocks.log_growth(norms.depth)
        logs = mean(np.log(norms.networks), variance=spread)
        claims.append(Identity("E log ‖h_L‖²/‖h₀‖² over networks", logs, Enclosure.equal(centre)))
    return tuple(claims)


# -- examples ----------------------------------------------------------------------------------------------


def _examples(dimension: int, depth: int, rng: np.random.Generator) -> Examples:
    """Linear blocks and their normal limit; smooth weights and their flow; random biases and Itô's correction."""
    depths = [max(4, depth // 4), max(8, depth // 2), max(16, depth)]
    apart, paths = smooth_distances(dimension, depths, rng)
    smooth = observed_order(
        "smooth weights, step 1/L: distance to twice the depth", 1, depths, apart, slack=0.4
    )
    ends = draw_biased_ends(depth, rng)
    claims = (
        *normal_limit_claims(dimension, depths),
        *smooth,
        *drift_claims(depth),
        *bias_claims(ends),
        *correction_claims(depths),
    )
    return Examples(claims, (draw_paths(dimension, depth, paths[-1], rng), draw_ends(ends)))


def normal_limit_claims(dimension: int, depths: Sequence[int]) -> tuple[Claim, ...]:
    r"""$\log\|h_L\|^2\to\mathcal N(1-\frac2d,\frac4d)$ at $\alpha=L^{-1/2}$: mean and variance against depth."""
    means, variances = zip(*(RandomBlocks(0.5, dimension).log_growth(depth) for depth in depths))
    return (
        _tends(
            "E log ‖h_L‖²/‖h₀‖² at α = L^(−1/2)",
            1 - 2 / dimension,
            map(Enclosure.equal, means),
            depths,
        ),
        _tends(
            "its variance at α = L^(−1/2)", 4 / dimension, map(Enclosure.equal, variances), depths
        ),
    )


def drift_claims(depth: int) -> tuple[Claim, ...]:
    r"""$L\,\mathbb E\sigma-\frac q2\le\frac{q^2}{8L}e^{q/2L}$."""
    what = "L·E σ − ½σ″(0)q ≤ q²e^(q/2L)/8L, σ(z) = e^z − 1"
    return tuple(AtMost(f"{what}, q = {q}, L = {depth}", *drift_gap(q, depth)) for q in VARIATIONS)


def bias_claims(ends: BiasedEnds) -> tuple[Claim, ...]:
    """Mean and variance of the ends with random biases alone."""
    first, second, fourth = sum_moments(ends.depth)
    around = mean((ends.curved - first.middle) ** 2, variance=(fourth - second * second).hi)
    curved = mean(ends.curved, variance=second.hi)
    # |tanh z| ≤ |z|: at most the variance of the biases themselves
    odd = mean(ends.odd, variance=1.0)
    return (
        Identity("E h_L with random biases in e^z − 1, over networks", curved, first),
        Identity("variance of h_L with random biases in e^z − 1, over networks", around, second),
        Identity("E h_L with random biases in tanh, over networks", odd, Enclosure.exact(0)),
    )


def correction_claims(depths: Sequence[int]) -> tuple[Claim, ...]:
    r"""$h_L\to\mathcal N(\frac12\sigma''(0),1)$: mean and variance against depth."""
    means, variances, _ = zip(*(sum_moments(L) for L in depths))
    return (
        _tends("E h_L with random biases: ½σ″(0)", 0.5, means, depths),
        _tends("its variance", 1.0, variances, depths),
    )


def _tends(
    what: str, limit: float, values: Iterable[Enclosure], depths: Sequence[int]
) -> Converges:
    return Converges(
        what, Enclosure.equal(limit), tuple(values), tuple(map(float, depths)), 4 / depths[-1]
    )
