"""The best linear VAE is probabilistic PCA, and it ignores the latents that carry less than the noise."""

from typing import Annotated

import numpy as np
from flint import arb, ctx

from ftheta.latent.ppca import Ppca, fit_ppca
from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset

MOST_ENTRIES = 1024
SHOWN = 12
BITS = 128
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def axes(
    rng: np.random.Generator,
    *,
    floor: Annotated[float, Knob(0, 1, "the two smallest eigenvalues", "λ₅", most=1)] = 0.5,
) -> Dataset:
    r"""Ten rows $\pm\sqrt{5\lambda_i}\,e_i$, whose covariance is diagonal with the eigenvalues 5, 3, 1 and twice the
    floor."""
    eigenvalues = np.array([5.0, 3.0, 1.0, floor, floor])
    rows = np.diag(np.sqrt(5 * eigenvalues))
    return Dataset("rows with the variances 5, 3, 1, …", np.concatenate([rows, -rows]))


def _rows(data: Dataset) -> np.ndarray:
    return np.asarray(data.x, np.float64).reshape(len(data), -1)


@hypothesis(
    r"the data vary beyond the first $q$ principal directions: $\sigma^2>0$, $q<d$",
    remedy="take fewer latents, or leave constant and dependent columns out",
)
def noise_is_left(data: Dataset, *, latents: int) -> Finding:
    rows = _rows(data)
    n, d = rows.shape
    if n < 2 or not latents < d <= MOST_ENTRIES:
        return Finding.failed(
            f"{latents} latents, {n} rows of {d} entries (at most {MOST_ENTRIES:,} are taken)"
        )
    noise = fit_ppca(rows, latents).noise
    return Finding.decide(
        noise > 0, f"σ² = {noise:.6g}", "eigenvalues of the covariance", Enclosure.equal(noise)
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the KL is summed over the latents, not averaged",
    remedy="set --averaged false; a mean over q latents is the weight β = 1/q, and no bound of the likelihood",
)
def summed_divergence(data: Dataset, *, averaged: bool) -> Finding:
    return Finding.decide(
        not averaged, "averaged" if averaged else "summed", "read off the knob", basis=Basis.EXACT
    )


@theorem(
    title="Linear VAEs, PPCA and posterior collapse",
    gist="A linear VAE at its best is probabilistic PCA, its bound is the likelihood itself, and a latent is ignored "
    "exactly when its direction varies no more than the noise: collapse is a property of the data and the noise, not a "
    "failure of training.",
    see_also=("vae-elbo", "score-matching"),
    sources=("tipping1999", "lucas2019"),
    assumes=(noise_is_left, summed_divergence),
    on=axes,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "one latent": {"latents": 1},
        "strong KL": {"beta": 5.0},
        "KL averaged over latents": {"latents": 4, "beta": 0.25},
        "broken on purpose": {"averaged": True},
    },
)
def linear_vae_ppca(
    data: Dataset,
    rng: np.random.Generator,
    *,
    latents: Annotated[int, Knob(1, 10, "number of latents", "q", most=256)] = 2,
    beta: Annotated[
        float, Knob(0.1, 10, "weight of the KL", "β", log=True, least=1e-3, most=1e3)
    ] = 1.0,
    averaged: Annotated[bool, Knob(says="the KL is averaged over the latents")] = False,
) -> Evidence:
    r"""Let $\lambda_1\ge\dots\ge\lambda_d$ be the eigenvalues of the covariance. Among all $x=\mu+Wz+\sigma\xi$ the
    likelihood is largest for $\sigma^2=\frac1{d-q}\sum_{i>q}\lambda_i$ and $W=(\sqrt{\lambda_i-\sigma^2}\,u_i)_{i\le
    q}$,
    $$\tfrac1n\log p=-\tfrac12\Big(d\ln2\pi+\sum_{i\le q}\ln\lambda_i+(d-q)\ln\sigma^2+d\Big),$$
    and the ELBO of the linear VAE reaches it, with $\mathrm{KL}_i=\frac12\ln\frac{\lambda_i}{\sigma^2}$. With the
    weight $\beta$ on the KL and this $\sigma^2$ latent $i$ collapses iff $\lambda_i\le\beta\sigma^2$, and else
    $\mathrm{KL}_i=\frac12\ln\frac{\lambda_i}{\beta\sigma^2}$."""
    rows = _rows(data)
    model = fit_ppca(rows, latents)
    claims = [
        _claim_likelihood(model, rows),
        _claim_bound(model, rows, averaged),
        _claim_divergences(model, rows),
        _claim_optimum(model, rng, rows),
        _claim_collapse(model, rows, beta),
    ]
    kept = model.surviving(beta)
    numbers: Numbers = {
        "noise variance": model.noise,
        "log-likelihood per row": model.log_likelihood,
        "latents kept": Enclosure.exact(kept),
    } | {f"KL of latent {i + 1}": float(kl) for i, kl in enumerate(model.divergences[:SHOWN])}
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_eigenvalues(model, beta), _draw_divergences(model, beta)),
        numbers=numbers,
        tables=(_tabulate(model),),
        summary=f"{kept} of {latents} latents carry information at β = {beta:g}; log-likelihood "
        f"{model.log_likelihood:.6g} nats per row",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _claim_likelihood(model: Ppca, rows: np.ndarray) -> Claim:
    """The formula against the Gaussian log-density of the rows, by Cholesky's factor of the covariance of the model."""
    d = rows.shape[1]
    covariance = model.loadings @ model.loadings.T + model.noise * np.eye(d)
    factor = np.linalg.cholesky(covariance)
    white = np.linalg.solve(factor, (rows - model.mean).T)
    logs = -(white**2).sum(0) / 2 - np.log(np.diag(factor)).sum() - d / 2 * np.log(2 * np.pi)
    sides = (Enclosure.equal(model.log_likelihood), Enclosure.equal(float(logs.mean())))
    return Identity(
        f"log-likelihood per row, q = {model.latents}: formula = mean over the rows",
        *sides,
        rtol=1e-8,
    )


def _claim_bound(model: Ppca, rows: np.ndarray, averaged: bool) -> Claim:
    r"""$\mathbb E_q\log p(x|z)-\mathrm{KL}$ with the model's own posterior, averaged over the rows."""
    d = rows.shape[1]
    z, variances = model.encode(rows)
    W = model.loadings
    off = ((rows - model.mean - z @ W.T) ** 2).sum(1) + float(((W**2) * variances).sum())
    reconstruction = -off / (2 * model.noise) - d / 2 * np.log(2 * np.pi * model.noise)
    divergence = ((z**2) + variances - 1 - np.log(variances)).sum(1) / 2
    if averaged:
        divergence /= model.latents
    found = float((reconstruction - divergence).mean())
    sides = (Enclosure.equal(found), Enclosure.equal(model.log_likelihood))
    witness = _check_again(model) if averaged else None
    return Identity("ELBO of the linear VAE = log-likelihood", *sides, witness, rtol=1e-8)


def _check_again(model: Ppca) -> Witness:
    """Reconstruction less the mean KL, and the likelihood, in balls from the eigenvalues that were found."""
    d = len(model.eigenvalues)
    with ctx.workprec(BITS):
        s2 = arb(float(model.noise))
        kept = [arb(v) for v in model.eigenvalues[: model.latents].tolist()]
        logs = sum((v.log() for v in kept), arb(0))
        likelihood = -(d * (2 * arb.pi()).log() + logs + (d - model.latents) * s2.log() + d) / 2
        divergence = sum(((v / s2).log() / 2 for v in kept), arb(0))
        bound = likelihood + divergence - divergence / model.latents
    at = {"eigenvalues": tuple(model.eigenvalues[:SHOWN].tolist())}
    return Witness(at, Enclosure.ball(bound), Enclosure.ball(likelihood), "closed forms in balls")


def _claim_divergences(model: Ppca, rows: np.ndarray) -> Claim:
    """The KL of the encoder over the rows, latent by latent, against the formula, where they differ most."""
    z, variances = model.encode(rows)
    found = ((z**2).mean(0) + variances - 1 - np.log(variances)) / 2
    k = int(np.abs(found - model.divergences).argmax())
    sides = (Enclosure.equal(float(found[k])), Enclosure.equal(float(model.divergences[k])))
    return Identity(
        f"KL of latent {k + 1} over the rows = ½ ln(λ/σ²)", *sides, rtol=1e-8, atol=1e-9
    )


def _claim_optimum(model: Ppca, rng: np.random.Generator, rows: np.ndarray) -> Claim:
    """Other loadings and noises, near and far: none has a larger likelihood."""
    d = rows.shape[1]
    centred = rows - model.mean
    covariance = centred.T @ centred / len(rows)
    tries = 24 if d <= 128 else 4
    best = -np.inf
    for k in range(tries):
        size = 10.0 ** -(k % 4)
        scale = np.abs(model.loadings).max() + np.sqrt(model.noise)
        W = model.loadings + size * scale * rng.normal(size=model.loadings.shape)
        noise = model.noise * np.exp(size * rng.normal())
        other = W @ W.T + noise * np.eye(d)
        _, log_det = np.linalg.slogdet(other)
        value = (
            -(d * np.log(2 * np.pi) + log_det + float(np.trace(np.linalg.solve(other, covariance))))
            / 2
        )
        best = max(best, float(value))
    left = Enclosure.at_least(best, samples=tries)
    return AtMost(
        "log-likelihood of other loadings and noises ≤ the model's",
        left,
        Enclosure.equal(model.log_likelihood),
    )


def _objective(eigenvalue: float, loading: np.ndarray, noise: float, beta: float) -> np.ndarray:
    r"""The part of the β-ELBO that one direction with a loading $w$ has, at its best encoder
    $q(z|x)=\mathcal N(cx,s^2)$."""
    total = loading**2 + beta * noise
    c = loading / total
    s2 = beta * noise / total
    reconstruction = -(eigenvalue * (1 - loading * c) ** 2 + loading**2 * s2) / (2 * noise)
    return reconstruction - beta / 2 * (c**2 * eigenvalue + s2 - 1 - np.log(s2))


def _claim_collapse(model: Ppca, rows: np.ndarray, beta: float) -> Claim:
    r"""No loading on a grid does better than $w^2=(\lambda-\beta\sigma^2)_+$, in the direction where it comes
    nearest."""
    worst = (-np.inf, 0.0, 0.0)
    for eigenvalue in model.eigenvalues[: model.latents].tolist():
        grid = np.sqrt(eigenvalue + beta * model.noise) * np.linspace(0, 2, 401)
        best = float(_objective(eigenvalue, grid, model.noise, beta).max())
        loading = np.sqrt(max(eigenvalue - beta * model.noise, 0.0))
        claimed = float(_objective(eigenvalue, np.array([loading]), model.noise, beta)[0])
        worst = max(worst, (best - claimed, best, claimed))
    what = f"β-ELBO of a latent with any other loading ≤ that with w² = (λ − βσ²)₊, β = {beta:g}"
    return AtMost(what, Enclosure.at_least(worst[1], samples=401), Enclosure.equal(worst[2]))


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_eigenvalues(model: Ppca, beta: float) -> Curves:
    """Reverse water-filling: what is above the level βσ² is kept."""
    count = min(len(model.eigenvalues), 40)
    k = np.arange(1, count + 1)
    values = np.maximum(model.eigenvalues[:count], 1e-12)
    lines = (
        Series("eigenvalues λ", k, values, "measured", "points"),
        Series("βσ²", k, np.full(count, beta * model.noise), "bound"),
    )
    return Curves(
        "latents above the water are kept", Axis("direction"), Axis("variance", "log"), lines
    )


def _draw_divergences(model: Ppca, beta: float) -> Bars:
    shown = min(model.latents, SHOWN)
    kept = np.maximum(np.log(model.eigenvalues[:shown] / (beta * model.noise)) / 2, 0.0)
    names = tuple(f"latent {i + 1}" for i in range(shown))
    return Bars(
        "what each latent tells", Axis("nats"), names, (f"β = {beta:g}",), (tuple(kept.tolist()),)
    )


def _tabulate(model: Ppca) -> Table:
    """How many latents survive a KL that is summed, averaged over latents, or weighted."""
    q = model.latents
    weights = (("KL summed over latents", 1.0), ("KL averaged over latents", 1 / q), ("β = 4", 4.0))
    rows = tuple((name, float(beta), model.surviving(beta)) for name, beta in weights)
    return Table("latents that survive", ("objective", "β", f"of {q}"), rows)
