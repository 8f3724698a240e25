"""What was learnt of the rows of training alone."""

import numpy as np

from ftheta.estimates import binomial_interval
from ftheta.logic import Axis, Basis, Curves, Enclosure, Fact, Series, SubjectError, Table
from ftheta.risks.baselines import Labelled, nearest_labels
from ftheta.risks.bounds.unseen import clopper_pearson
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge, percent
from ..part import Part
from .evaluation import Evaluation, evaluate_classes, flatten
from .pictures import draw_rows

CONFIDENCE = 0.95
NEIGHBOURS = 10
NEAR_ROWS = 4000  # of training, among which neighbours are looked for
SHOWN = 12


def train_test_gap(net: Network, rng: np.random.Generator) -> Part:
    """The accuracy on the rows of training less the one on new rows, with an interval."""
    test, test_classes = evaluate_classes(net, rng)
    train, train_classes = evaluate_classes(net, rng, train=True)
    seen = int((train.guesses == train_classes).sum())
    new = int((test.guesses == test_classes).sum())
    n = len(test_classes)
    m = len(train_classes)
    gap = seen / m - new / n
    is_complete = train.is_complete and test.is_complete
    on_these = Enclosure.equal(gap) if is_complete else Enclosure.measured(gap, samples=min(n, m))
    value = _enclose_gap(seen, m, new, n, complete=train.is_complete)
    told = f"{m:,} rows of training, {n:,} others"
    facts = (
        Fact(
            "accuracy on the rows of training", train.know_share(seen), train.told, "train_accuracy"
        ),
        *train.bound_share("accuracy on the rows of training", seen, "train_accuracy_interval"),
        Fact("train–test gap on these rows", on_these, told, "gap"),
        Fact(
            "train–test gap, interval",
            value,
            "accuracy on the rows of training less that on new rows",
            "gap_interval",
        ),
    )
    says = (
        f"Train–test gap {100 * gap:.1f} points ({100 * value.lo:.1f} to {100 * value.hi:.1f} at 95 %): "
        f"{percent(seen / m)} on rows of training, {percent(new / n)} on the data."
    )
    return Part(facts, findings=judge("gap", value, says, judged_by=max(value.lo, 0.0)))


def _enclose_gap(seen: int, m: int, new: int, n: int, *, complete: bool) -> Enclosure:
    """The accuracy on the rows of training, `seen` of `m`, less that on new rows, of which `new` of `n` are right.

    The rows of training are what they are, so that their accuracy is known where they are all there; of some that were
    drawn it has an interval too, and each of the two takes half of the error probability.
    """
    level = CONFIDENCE if complete else 1 - (1 - CONFIDENCE) / 2
    here = binomial_interval(new, n, level)
    there = Enclosure.equal(seen / m) if complete else binomial_interval(seen, m, level)
    return Enclosure(there.lo - here.hi, there.hi - here.lo, Basis.SAMPLED, n, CONFIDENCE)


def margins(net: Network, rng: np.random.Generator) -> Part:
    """How far the output of the label is above the others, on the data and on the rows of training."""
    test, classes = evaluate_classes(net, rng)
    here = _margins(test, classes)
    n = len(here)
    facts = [
        Fact(
            "median margin on the data",
            Enclosure.measured(float(np.median(here)), samples=n),
            test.told,
            "margin",
        ),
        Fact(
            "rows with a margin below a tenth of the median, in size",
            *_close(here, test.told),
            "close_rows",
        ),
        *_risk_facts(here),
    ]
    series = [_share_below("data", here)]
    if net.train_data is not None:
        train, train_classes = evaluate_classes(net, rng, train=True)
        there = _margins(train, train_classes)
        median = Enclosure.measured(float(np.median(there)), samples=len(there))
        facts.append(Fact("median margin on the rows of training", median, train.told))
        series.append(_share_below("rows of training", there))
    x = Axis("output of the label less the largest other")
    chart = Curves("margins", x, Axis("share of rows below"), tuple(series))
    return Part(tuple(facts), charts=(chart,))


def _margins(found: Evaluation, classes: np.ndarray) -> np.ndarray:
    own = found.outputs[np.arange(len(classes)), classes]
    others = found.outputs.copy()
    others[np.arange(len(classes)), classes] = -np.inf
    return own - others.max(1)


def _close(margins: np.ndarray, told: str) -> tuple[Enclosure, str]:
    limit = 0.1 * abs(float(np.median(margins)))
    return Enclosure.exact(int((np.abs(margins) < limit).sum())), f"of {len(margins):,}; {told}"


def _share_below(name: str, margins: np.ndarray) -> Series:
    ordered = np.quantile(margins, np.linspace(0, 1, 101))
    return Series(name, ordered, np.linspace(0, 1, 101))


def _risk_facts(margins: np.ndarray) -> list[Fact]:
    """The best bound of the risk from rows that were not trained on, and how many would halve what it adds."""
    n = len(margins)
    wrong = int((margins <= 0).sum())
    bound = clopper_pearson(wrong, n, 1 - CONFIDENCE)
    slack = bound - wrong / n
    more = n
    while (
        clopper_pearson(round(wrong / n * more), more, 1 - CONFIDENCE) - wrong / n > slack / 2
        and more < 64 * n
    ):
        more *= 2
    note = f"exact binomial bound, {100 * CONFIDENCE:.0f} % confidence, if these rows were not trained on"
    risk = Enclosure(0.0, bound, Basis.SAMPLED, n, CONFIDENCE)
    return [
        Fact("risk on new rows, at most", risk, note, "risk_bound"),
        Fact(
            "rows that would halve what the bound adds",
            Enclosure.exact(more),
            "at the same error; by doubling",
        ),
    ]


def memorised_rows(net: Network, rng: np.random.Generator) -> Part:
    """Rows of training that the network has right although every near row has another label."""
    train, classes = evaluate_classes(net, rng, train=True)
    if takes_tokens(net):
        raise SubjectError(
            "Token ids have no distances.", remedy="this is about inputs that are numbers"
        )
    few = np.arange(min(len(classes), NEAR_ROWS))
    if len(few) < 5 * NEIGHBOURS:
        raise SubjectError(
            "This needs more rows of training.", got=f"{len(few)}", remedy="give 50 rows or more"
        )
    x = flatten(train.x[few])
    spread = x.std(0)
    rows = Labelled(x / np.where(spread > 0, spread, 1.0), classes[few])
    near = nearest_labels(rows, NEIGHBOURS)
    alone = (near != rows.y[:, None]).all(1)
    right = train.guesses[few] == rows.y
    found = np.flatnonzero(alone & right)
    n = len(few)
    told = f"of {n:,} rows of training; none of the {NEIGHBOURS} nearest has their label"
    value = Enclosure.measured(len(found), samples=n)
    facts = (
        Fact(
            "rows of training without a neighbour of their class",
            Enclosure.measured(int(alone.sum()), samples=n),
            told,
        ),
        Fact(
            "of these, rows that the network has right (memorised)", value, told, "memorised_rows"
        ),
    )
    listed = [(int(train.rows[i]), train.name(int(rows.y[i]))) for i in found[:SHOWN]]
    table = Table("rows of training that look memorised", ("row", "label"), tuple(listed))
    says = f"{len(found):,} of {n:,} rows of training look memorised: right, though none of their neighbours is alike."
    pictures = draw_rows(
        "rows of training that look memorised", net.input_shape, (train.x[found[:SHOWN]],)
    )
    findings = judge("memorised-rows", value, says, judged_by=len(found) / n)
    return Part(facts, (table,) if listed else (), pictures, findings)
