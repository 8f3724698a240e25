"""What simple models do on the same rows, and labels that nobody else believes."""

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.estimates.paired import mcnemar
from ftheta.logic import Axis, Bars, Enclosure, Fact, SubjectError, Table
from ftheta.risks.baselines import Fitted, Labelled, nearest_labels, predict_linearly
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge, percent
from ..part import Part
from .evaluation import evaluate_classes, evaluate_data, flatten
from .inputs import classes_of
from .regression import ASSUMED, evaluate_regression, judge_against_baselines, refuse_reconstruction

ROWS = 2000  # that baselines are tried on
REFERENCE = 10_000  # rows that they may be fitted to
MOST_COLUMNS = 2000  # of a linear model
LEVEL = 0.05
NEIGHBOURS = 10
AGREE = 0.7  # of the neighbours
FAR = 0.25  # of the rows: those that lie farthest from the boundaries between classes
SURELY = 0.005  # share of labels that are wrong at least, at 95 %, before it is said
SHOWN = 12
LEAST = 10  # rows
ONE_SCALE = 300.0  # between the widest and the narrowest column


def baselines(net: Network, rng: np.random.Generator) -> Part:
    """Majority class (or mean), a linear model and the nearest neighbour, with exact tests that they are as good. Of
    rows of token ids the majority class alone."""
    if evaluate_data(net, rng).classes is None:
        return _regression_baselines(net, rng)
    found, classes = evaluate_classes(net, rng)
    if len(classes) < LEAST:
        raise SubjectError(
            "This needs at least ten labelled rows.", got=f"{len(classes)}", remedy="give more rows"
        )
    are_tokens = takes_tokens(net)  # which have no distances
    x = flatten(found.x)
    reference = _reference(net, rng)
    source = "rows of training" if reference is not None else "other rows of the data"
    tested, fitted = _part_rows(len(classes), rng, keep_all=reference is not None)
    reference = reference or Labelled(x[fitted], classes[fitted])
    rows = Labelled(_on_one_scale(x[tested], reference.x), classes[tested])
    reference = Labelled(_on_one_scale(reference.x, reference.x), reference.y)
    right = found.guesses[tested] == rows.y
    tried = {"majority class": np.full(len(rows.y), np.bincount(reference.y).argmax())}
    if x.shape[1] <= MOST_COLUMNS and not are_tokens:
        tried["linear model"] = predict_linearly(rows, found.outputs.shape[1], reference)
    if not are_tokens:
        tried["nearest neighbour"] = nearest_labels(rows, 1, reference)[:, 0]
    told = f"{len(tested):,} rows, fitted to {len(reference.y):,} {source}"
    facts = [
        Fact(
            f"accuracy, {name}",
            Enclosure.measured(float((guess == rows.y).mean()), samples=len(tested)),
            told,
            f"{name.replace(' ', '_')}_accuracy",
        )
        for name, guess in tried.items()
    ]
    best = max(tried, key=lambda name: (tried[name] == rows.y).sum())
    rival = tried[best] == rows.y
    p = min(1.0, len(tried) * mcnemar(right, rival))  # the best of so many was chosen by these rows
    corrected = f", corrected for {len(tried)} baselines" * (len(tried) > 1)
    by = f"McNemar's exact test{corrected}; {ASSUMED}"
    facts.append(
        Fact(f"p-value, network against {best}", Enclosure.measured(p, samples=len(rows.y)), by)
    )
    shares = (float(right.mean()), *(float((guess == rows.y).mean()) for guess in tried.values()))
    chart = Bars(
        "accuracy on the same rows", Axis("accuracy"), ("this network", *tried), ("",), (shares,)
    )
    return Part(tuple(facts), charts=(chart,), findings=_compare(right, rival, best, p))


def _part_rows(
    n: int, rng: np.random.Generator, *, keep_all: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of rows to test on, drawn at random, and of other rows to fit to: none where all are kept for tests.

    A model that is fitted to the rows it is tested on, be it to all but one, makes them depend on one another, and the
    exact tests ask for independent rows.
    """
    order = rng.permutation(n)
    most = min(ROWS, n if keep_all else n // 2)
    return np.sort(order[:most]), np.sort(order[most : most + REFERENCE])


def _regression_baselines(net: Network, rng: np.random.Generator) -> Part:
    given = evaluate_regression(net, rng)
    refuse_reconstruction(given)
    if len(given.errors) < LEAST:
        got = f"{len(given.errors)}"
        raise SubjectError(
            "This needs at least ten labelled rows.", got=got, remedy="give more rows"
        )
    _refuse_tokens(net)
    x = flatten(given.found.x)
    if x.shape[1] > MOST_COLUMNS:
        got = f"{x.shape[1]:,} columns"
        raise SubjectError(
            "The inputs are too large for a linear model.", got=got, remedy="give fewer columns"
        )
    reference = _fitted_reference(net, given.labels.shape[1], rng)
    source = "rows of training" if reference is not None else "other rows of the data"
    tested, fitted = _part_rows(len(x), rng, keep_all=reference is not None)
    reference = reference or Fitted(x[fitted], given.labels[fitted])
    rows = Fitted(_on_one_scale(x[tested], reference.x), given.labels[tested])
    reference = Fitted(_on_one_scale(reference.x, reference.x), reference.y)
    return judge_against_baselines(given.errors[tested] ** 2, rows, reference, source, rng)


def _compare(right: np.ndarray, rival: np.ndarray, best: str, p: float) -> tuple:
    n = len(right)
    lead = float(right.mean() - rival.mean())
    basis = f"measured, {n:,} rows, McNemar's exact test, p = {p:.2g}"
    accuracies = f"{percent(right.mean())} against {percent(rival.mean())} on the same rows"
    if lead < 0 and p < LEVEL:
        says = f"Worse than a {best}: {accuracies}."
        return judge("behind-baseline", Enclosure.measured(-lead, samples=n), says, basis)
    if p < LEVEL:
        says = f"It beats the best simple baseline, {best}: {accuracies}."
    else:
        says = f"No significant lead over a {best}: {accuracies}."
    return judge(
        "ahead-of-baselines", Enclosure.measured(lead, samples=n), says, basis, judged_by=p
    )


def label_errors(net: Network, rng: np.random.Generator) -> Part:
    """Rows whose label is contradicted by the network and by most of the nearest rows alike.

    Where classes overlap such rows are no mistakes, but they lie near the boundary between the classes; wrong labels
    are everywhere. So the share of them is estimated on the quarter of the rows that have the largest margins.
    """
    found, classes = evaluate_classes(net, rng)
    _refuse_tokens(net)
    few = np.sort(rng.permutation(len(classes))[:ROWS])
    x = flatten(found.x[few])
    rows = Labelled(_on_one_scale(x, x), classes[few])
    n = len(rows.y)
    if n < 5 * NEIGHBOURS:
        raise SubjectError(
            "This needs more labelled rows.",
            got=f"{n}",
            remedy=f"give {5 * NEIGHBOURS} rows or more",
        )
    guessed = found.guesses[few]
    votes = nearest_labels(rows, NEIGHBOURS)
    agree = (votes == guessed[:, None]).mean(1)
    doubted = np.flatnonzero((guessed != rows.y) & (agree >= AGREE))
    ordered = np.sort(found.outputs[few], axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    inside = (margins >= np.quantile(margins, 1 - FAR)) & (agree >= AGREE)
    wrong = int((inside & (guessed != rows.y)).sum())
    many = max(int(inside.sum()), 1)
    share = binomial_interval(wrong, many, 0.95)
    told = f"of {n:,} rows; {NEIGHBOURS} nearest rows, {percent(AGREE, 0)} of which agree with the network"
    facts = (
        Fact(
            "labels that look wrong",
            Enclosure.measured(len(doubted), samples=n),
            told,
            "label_errors" if n == found.whole else "",  # a threshold is about all rows
        ),
    )
    listed = [
        (
            int(found.rows[few[i]]),
            found.name(int(rows.y[i])),
            found.name(int(guessed[i])),
            f"{percent(agree[i], 0)}",
        )
        for i in doubted[np.argsort(-agree[doubted], kind="stable")][:SHOWN]
    ]
    table = Table(
        "labels that look wrong",
        ("row", "label", "network", "neighbours that agree"),
        tuple(listed),
    )
    counted = f"{len(doubted):,} of {n:,} labels look wrong ({percent(len(doubted) / n)})"
    says = f"{counted}: network and neighbours agree on another class."
    means = (
        f"Of the rows that it is surest of and whose nearest rows agree with it ({many:,} rows), "
        f"{percent(share.lo)} to {percent(share.hi)} of the labels are wrong, at 95 %."
    )
    rate = wrong / many if share.lo > SURELY else 0.0
    findings = judge("label-errors", share, says, judged_by=rate, means=means)
    return Part(facts, (table,) if listed else (), findings=findings)


def _refuse_tokens(net: Network) -> None:
    if takes_tokens(net):
        raise SubjectError(
            "Token ids have no distances.", remedy="this is about inputs that are numbers"
        )


def _new_rows(net: Network, train: Dataset, rng: np.random.Generator) -> np.ndarray:
    """The numbers of some rows of training that are not in the data too."""
    few = np.sort(rng.permutation(len(train))[:REFERENCE])
    return few[~_is_in(train.x[few], net.data)]


def _reference(net: Network, rng: np.random.Generator) -> Labelled | None:
    """The rows of training, where they are known and labelled with the numbers of outputs."""
    train = net.train_data
    classes = (
        None
        if train is None or train.y is None
        else classes_of(net, train.y.reshape(len(train), -1))
    )
    if train is None or classes is None:
        return None
    few = _new_rows(net, train, rng)
    return Labelled(flatten(train.x[few]), classes[few]) if len(few) >= LEAST else None


def _fitted_reference(net: Network, outputs: int, rng: np.random.Generator) -> Fitted | None:
    """The same of a regression: so many numbers a label."""
    train = net.train_data
    if train is None or train.y is None or train.y.reshape(len(train), -1).shape[1] != outputs:
        return None
    few = _new_rows(net, train, rng)
    y = train.y.reshape(len(train), -1)[few].astype(np.float64)
    return Fitted(flatten(train.x[few]), y) if len(few) >= LEAST else None


def _is_in(x: np.ndarray, data: Dataset | None) -> np.ndarray:
    """Which rows are in the data too: a neighbour that is the row itself would know its label."""
    known = set() if data is None else {row.tobytes() for row in flatten(data.x) + 0}
    return np.array([row.tobytes() in known for row in flatten(x) + 0], bool)


def _on_one_scale(x: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The columns divided by their ranges in the rows that are `known`, where these ranges are far apart: neighbours
    are near in all columns."""
    ranges = np.ptp(known, axis=0)
    used = ranges[ranges > 0]
    if not len(used) or used.max() <= ONE_SCALE * used.min():
        return x
    return x / np.where(ranges > 0, ranges, 1.0)
