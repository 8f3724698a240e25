"""The risk of a trained predictor is the sum of four terms, each with its own cause."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Basis,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    SubjectError,
    hypothesis,
    theorem,
)
from ftheta.risks.outputs import asked_loss
from ftheta.subjects import Dataset, Network

from .charts import (
    SIZES,
    draw_estimates,
    draw_fits,
    draw_sizes,
    draw_terms,
    draw_widths,
    tabulate_fits,
)
from .decomposition import (
    THROWS,
    ExactTerms,
    Law,
    Terms,
    choose_snapshots,
    exact_terms,
    floor_of_sample,
    noise_floor,
)
from .experiments import Experiment, compare_widths, train_copy
from .least_squares import (
    DrawnDesigns,
    draw_designs,
    fixed_design_risk,
    random_design_risk,
    trace_variance,
    train_risk,
)

ZERO = Enclosure.exact(0)
ROUNDING = 1e-15
Numbers = dict[str, Enclosure | float]
ROWS = 400  # of data that are taken as a law
CURVES = ("sine", "step", "line")
SOURCES = ("the law", "its lower third")


def draw_curve(
    rng: np.random.Generator,
    *,
    curve: Annotated[str, Knob(says="the mean of the targets", choices=CURVES)] = "sine",
    noise: Annotated[
        float,
        Knob(0, 1, "standard deviation of the noise, which takes three values", "σ", most=1e3),
    ] = 0.3,
    atoms: Annotated[
        int, Knob(16, 130, "inputs of the law, equally likely", "k", log=True, least=2, most=130)
    ] = 48,
) -> Dataset:
    x = np.linspace(-1, 1, atoms)
    y = {"sine": np.sin(3 * x), "step": np.sign(x), "line": x}[curve]
    noisy = np.concatenate([y + noise * c for c in (-np.sqrt(1.5), 0.0, np.sqrt(1.5))])
    return Dataset(f"{curve} and noise {noise:g} on {atoms} inputs", np.tile(x, 3)[:, None], noisy)


@hypothesis(
    "the examples have targets that fit the predictor",
    remedy="give --data with one label per row, 16 or more",
    name="targets",
)
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        wanted = asked_loss(subject)
        enough = wanted is not None and subject.data is not None and len(subject.data) >= 16
        return Finding.decide(
            enough, f"the loss is {wanted or 'unknown'}", "labels counted", basis=Basis.EXACT
        )
    return Finding.decide(
        subject.y is not None, f"{len(subject):,} rows", "they are there", basis=Basis.EXACT
    )


@hypothesis(
    r"the sample is drawn from $\mathcal D$",
    remedy="draw the training rows from the law of the test",
    name="a sample drawn from the law",
)
def drawn_from_the_law(subject: Dataset | Network, *, drawn: str) -> Finding:
    if isinstance(subject, Network):
        return Finding.assumed("the rows are taken to be independent and unseen in training")
    return Finding.decide(
        drawn == "the law", f"it is drawn from {drawn}", "drawn here", basis=Basis.EXACT
    )


@theorem(
    title="The four terms of the error",
    gist="The risk of a trained network is a sum of four errors, due to generalisation, optimisation, sample and "
    "model; knowing which is large tells whether to collect data, train longer or enlarge the model.",
    see_also=(
        "population-and-empirical-risk",
        "vc-uniform-convergence",
        "double-descent",
        "bayes-predictors",
    ),
    same_for_all={
        "sum of the terms − R(θ̂)": "evaluated in rationals on the law of the subject: nothing is left over",
        "E [R_n − R](θ*)": "evaluated in rationals on the law of the subject: the mean is zero",
    },
    sources=("scaman-slides", "bottou2008"),
    assumes=(targets_known, drawn_from_the_law),
    on=draw_curve,
    unbreakable="""No law breaks it: the samples are drawn here. The preset `broken on purpose` draws them from a third
    of the law; forced, the mean of the statistical term is refuted.""",
    presets={
        "textbook": {},
        "many examples": {"n": 200, "p": 20},
        "no noise": {"noise": 0.0, "curve": "step"},
        "at the edge": {"n": 7, "p": 5, "steps": 1000},
        "broken on purpose": {"drawn": "its lower third"},
    },
    errata=r"""The slides of Scaman and Even leave out the hat of $\widehat{\mathcal D}_n$ in the third bracket; read as
    $\mathcal D$ the sum misses the statistical term. "By universality the approximation error is arbitrarily small"
    ignores the noise: no function of $x$ has a risk below the Bayes risk, which is part of $R(\theta^*)$.""",
)
def error_decomposition(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(5, 500, "sample size", "n", log=True, least=2, most=5000)] = 20,
    p: Annotated[
        int, Knob(1, 50, "features of the least-squares check", "p", log=True, most=200)
    ] = 5,
    width: Annotated[
        int, Knob(4, 64, "neurons in each of two hidden layers", "w", log=True, most=256)
    ] = 24,
    steps: Annotated[
        int, Knob(100, 5000, "training steps (Adam)", "t", log=True, least=1, most=50_000)
    ] = 2000,
    drawn: Annotated[str, Knob(says="what the sample is drawn from", choices=SOURCES)] = "the law",
) -> Evidence:
    r"""Let $\hat\theta_{n,t}$ be trained for $t$ steps on $n$ rows and $\theta^*\in\arg\min R$. Then
    $$R(\hat\theta_{n,t})=[R-R_n](\hat\theta_{n,t})+[R_n(\hat\theta_{n,t})-R_n(\theta^*)]+[R_n-R](\theta^*)+R(\theta^*):$$
    generalisation, optimisation, statistical and approximation error, in this order.
    The second term is at most $R_n(\hat\theta_{n,t})-\min R_n$ and may be negative; the third has mean 0. Least squares
    with $p$ features: $\sigma^2(1-\frac pn)$ on the sample, $\sigma^2(1+\frac pn)$ on new targets at its rows, and
    $\sigma^2\frac{n-1}{n-p-1}$ at new normal rows, on average."""
    if isinstance(subject, Network):
        return _estimate_terms(subject, rng, steps)
    law = Law.of(
        subject.x[:ROWS], np.zeros(len(subject.x[:ROWS])) if subject.y is None else subject.y[:ROWS]
    )
    source = None if drawn == SOURCES[0] else law.lower_third()
    return gather_on_law(Experiment.of(law, width, steps, source, rng), rng, n, p)


def gather_on_law(experiment: Experiment, rng: np.random.Generator, n: int, p: int) -> Evidence:
    """Everything known: the terms along one run and at several sample sizes, and in rationals for lines."""
    law = experiment.law
    rows = law.draw(rng, n * SIZES[-1], experiment.drawn_from)
    counts = law.count(rows[:n])
    run, terms = experiment.run(counts, choose_snapshots(experiment.steps))
    exact = exact_terms(law, counts, experiment.drawn_from)
    floor = noise_floor(law)
    designs = draw_designs(n, p, rng) if n > p else None
    sums = Enclosure.equal(terms.defect)
    on_sample = Enclosure.equal(floor_of_sample(law, counts))
    claims = [
        Identity("sum of the terms − R along the run, relative", sums, ZERO, atol=ROUNDING),
        AtMost(
            "least R of all functions ≤ R(θ*)",
            Enclosure.exact(floor),
            Enclosure.equal(terms.best_true),
        ),
        AtMost(
            "least R_n of all functions ≤ R_n(θ*)", on_sample, Enclosure.equal(terms.best_train)
        ),
        *_claim_lines(exact),
        _claim_statistical_mean(experiment, n, rng),
    ]
    charts = [draw_terms(terms, float(floor)), draw_sizes(experiment, rows, terms, float(floor))]
    if law.x.shape[1] == law.y.shape[1] == 1:
        charts.append(draw_fits(experiment, run, terms, counts))
    return Evidence(
        claims=tuple(claims),
        charts=tuple(charts),
        numbers={**_terms_at_end(terms), "noise floor": Enclosure.exact(floor)},
        tables=(tabulate_fits(terms),),
        as_printed=_claim_as_printed(exact, floor),
        summary=_summarise(terms, n),
        examples=partial(_examples, designs, experiment, counts, terms, rng.spawn(1)[0]),
    )


def _estimate_terms(net: Network, rng: np.random.Generator, steps: int) -> Evidence:
    r"""The network handed in plays $\theta^*$; a copy with shuffled weights is trained on half of its rows, and $R$ is
    estimated on the others, which neither has seen."""
    loss = asked_loss(net)
    if net.data is None or loss is None:
        raise SubjectError(
            "The network has no rows with targets that fit it.",
            where=net.name,
            remedy="give --data",
        )
    found = train_copy(net, loss, rng, steps)
    terms = found.terms
    claim = Identity(
        "[R_n − R](θ*), expected", mean(found.best_train) - mean(found.best_held), ZERO
    )
    last = found.held[-1]
    numbers = _terms_at_end(terms) | {
        "generalisation within (nominal 95%)": mean(last - terms.train[-1], 0.95),
        "approximation within (nominal 95%)": mean(found.best_held, 0.95),
        "risk within (nominal 95%)": mean(last, 0.95),
    }
    title = f"{loss} risk: estimates on {len(found.best_held):,} held-out rows"
    return Evidence(
        claims=(claim,),
        charts=(draw_terms(terms, title=title), draw_estimates(terms, found.held, loss)),
        numbers=numbers,
        tables=(tabulate_fits(terms),),
        summary=_summarise(terms, found.n),
    )


# ---- claims about the subject ---------------------------------------------------------------------------------------


def _claim_lines(found: ExactTerms) -> list[Claim]:
    """Lines fitted exactly: the identity, the sign of the second term, the mean of the third."""
    second = Enclosure.exact(found.train - found.best_train)
    shown = found if found.train < found.best_train else THROWS
    example = {"R_n(θ̂)": float(shown.train), "R_n(θ*)": float(shown.best_train)}
    negative = Enclosure.exact(shown.train - shown.best_train)
    below = Enclosure.exact(Fraction(-1, 10**12))
    return [
        Identity(
            "sum of the terms − R(θ̂), lines", Enclosure.exact(found.sum_of_terms - found.true), ZERO
        ),
        AtMost("R_n(θ̂) − R_n(θ*) where θ̂ minimises R_n", second, ZERO),
        Exists("an optimisation term below 0", example, negative, below),
        Identity("E [R_n − R](θ*)", Enclosure.exact(found.drifted - found.best_true), ZERO),
    ]


def _claim_statistical_mean(experiment: Experiment, n: int, rng: np.random.Generator) -> Claim:
    """The third term of the network over many samples has mean 0."""
    law = experiment.law
    drawn = law.draw_statistical_terms(experiment.best, n, experiment.drawn_from, rng)
    third = mean(drawn, variance=law.variance_of(experiment.best, experiment.drawn_from) / n)
    # of equal losses nothing else is left
    third = third.widened(absolute=10 * ROUNDING * float(experiment.best.max()))
    return Identity("mean of the statistical term of the network", third, ZERO)


def _claim_as_printed(found: ExactTerms, floor: Fraction) -> tuple[Claim, ...]:
    """As the slides of Scaman and Even print it: no hat in the third bracket, and an approximation term that
    universality makes vanish."""
    without_hat = found.sum_of_terms - (found.best_train - found.best_true)
    true = Enclosure.exact(found.true)
    return (
        Identity("sum with L_D for L_{D̂_n} in the third term", Enclosure.exact(without_hat), true),
        AtMost("least R of all functions ≤ 0", Enclosure.exact(floor), ZERO),
    )


def _terms_at_end(terms: Terms) -> Numbers:
    return {
        "generalisation": float(terms.generalisation[-1]),
        "optimisation": float(terms.optimisation[-1]),
        "statistical": terms.statistical,
        "approximation": terms.approximation,
        "risk": float(terms.true[-1]),
        "training risk": float(terms.train[-1]),
        "least risk on the way": float(terms.true.min()),
        "sum of the terms less the risk, relative": terms.defect,
    }


def _summarise(terms: Terms, n: int) -> str:
    parts = (
        f"generalisation {terms.generalisation[-1]:.4g} + optimisation {terms.optimisation[-1]:.4g}"
    )
    parts += f" + statistical {terms.statistical:.4g} + approximation {terms.approximation:.4g}"
    least = f"least risk {terms.true.min():.4g} at t = {terms.steps[terms.regular]:,}"
    return f"n = {n:,}, t = {terms.steps[-1]:,}: risk {terms.true[-1]:.4g} = {parts}; {least}"


# ---- least squares with normal rows, an example ---------------------------------------------------------------------

ON_SAMPLE = "OLS training risk / σ²"
AT_ROWS = "OLS risk at the same rows / σ²"


def _least_squares_numbers(found: DrawnDesigns) -> dict[str, Enclosure]:
    """The closed forms."""
    numbers = {
        ON_SAMPLE: train_risk(found.n, found.p),
        AT_ROWS: fixed_design_risk(found.n, found.p),
    }
    at_new_rows = random_design_risk(found.n, found.p)
    if at_new_rows is not None:
        numbers["OLS risk at new rows / σ²"] = at_new_rows
    return {name: Enclosure.exact(value) for name, value in numbers.items()}


def _examples(
    designs: DrawnDesigns | None,
    experiment: Experiment,
    counts: np.ndarray,
    terms: Terms,
    rng: np.random.Generator,
) -> Examples:
    """The terms against the size of the model; and least squares, where it has a closed form."""
    compared = compare_widths(experiment, counts, terms, rng)
    floor = noise_floor(experiment.law)
    best = Enclosure.equal(min(found.best_true for _, found in compared))
    widths = ", ".join(str(width) for width, _ in compared)
    claim = AtMost(
        f"least R of all functions ≤ R(θ*) at the widths {widths}", Enclosure.exact(floor), best
    )
    chart = draw_widths(compared, float(floor))
    if designs is None:
        return Examples((claim,), (chart,))
    return Examples(
        (claim, *_least_squares_claims(designs)), (chart,), numbers=_least_squares_numbers(designs)
    )


def _least_squares_claims(found: DrawnDesigns) -> list[Claim]:
    """The three closed forms against the trace of an exact hat matrix, and against drawn designs."""
    n = found.n
    p = found.p
    claims: list[Claim] = []
    if found.trace is not None:
        on_sample = 1 - found.trace / n - train_risk(n, p)
        at_rows = 1 + found.trace / n - fixed_design_risk(n, p)
        claims.append(
            Identity(f"{ON_SAMPLE}, less its closed form", Enclosure.exact(on_sample), ZERO)
        )
        claims.append(Identity(f"{AT_ROWS}, less its closed form", Enclosure.exact(at_rows), ZERO))
    at_new_rows = random_design_risk(n, p)
    if found.risks is not None and at_new_rows is not None:
        measured = mean(found.risks, variance=trace_variance(n, p))
        claims.append(
            Identity("OLS risk at new normal rows / σ²", measured, Enclosure.exact(at_new_rows))
        )
    return claims
