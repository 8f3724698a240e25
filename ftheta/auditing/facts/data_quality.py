"""Whether the data can carry what is said of them: columns, rows that repeat, rows of training, another law."""

import numpy as np

from ftheta.estimates.two_samples import energy_test
from ftheta.logic import Axis, Bars, Chart, Enclosure, Fact, SubjectError, Table
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge, percent
from ..part import Part
from .evaluation import flatten
from .inputs import classes_of, describe_rows

SHOWN = 8
MOST_BARS = 20
MOST_COLUMNS = 4096  # whose correlations are computed
ROWS = 20_000  # looked at for columns
TESTED = 600  # rows of each sample of a two-sample test
SAME = 1 - 1e-9  # a correlation that is 1, up to rounding


def columns(net: Network, rng: np.random.Generator) -> Part:
    """Columns that are constant, repeat another one or are scaled badly; classes that are rare."""
    data = _data_of(net)
    told = describe_rows(len(data), data)
    findings = ()
    facts = []
    if not takes_tokens(net):
        facts, findings = _columns_of(net, data, told)
    classes = None if data.y is None else classes_of(net, data.y.reshape(len(data), -1))
    charts: tuple[Chart, ...] = ()
    if classes is not None:
        fact, said, charts = _balance(data, classes, told)
        facts = [*facts, fact]
        findings = (*findings, *said)
    if not facts:
        raise SubjectError(
            "Nothing is to be said of columns of token ids.",
            got="no classes",
            remedy="add labels: `--labels`",
        )
    return Part(tuple(facts), charts=charts, findings=findings)


def _data_of(net: Network) -> Dataset:
    if net.data is None:
        raise SubjectError("This needs data.", got="no data", remedy="add --data with x and y")
    return net.data


def _columns_of(net: Network, data: Dataset, told: str) -> tuple[list[Fact], tuple]:
    every = data.x.reshape(len(data), -1)
    constant = np.flatnonzero(every.min(0) == every.max(0)) if len(data) > 1 else np.zeros(0, int)
    x = flatten(data.x[:ROWS])
    some = describe_rows(len(x), data)
    repeated = _repeated_columns(x)
    spread = flatten(_seen_by_first_layer(net, data)[:ROWS]).std(0)
    spread = spread[spread > 0]
    ratio = float(spread.max() / spread.min()) if len(spread) else 1.0
    d = x.shape[1]
    verb = "repeats" if len(repeated) == 1 else "repeat"
    counts = (
        Enclosure.exact(len(constant)),
        Enclosure.equal(len(repeated)),
        Enclosure.equal(ratio),
    )
    facts = [
        Fact("constant columns", counts[0], f"of {d:,}; {told}", "constant_columns"),
        Fact(
            "columns that repeat another one", counts[1], f"of {d:,}; {some}", "collinear_columns"
        ),
        Fact("largest ÷ smallest standard deviation of a column", counts[2], some, "column_scales"),
    ]
    dependent = _dependent_columns(x, int((np.ptp(x, axis=0) == 0).sum()), len(repeated))
    facts.append(
        Fact("columns that others add up to", Enclosure.equal(dependent), some, "dependent_columns")
    )
    # else something may scale the columns before the first layer
    is_known = net.description is not None
    findings = (
        *judge(
            "dependent-columns", Enclosure.equal(dependent),
            f"{dependent:,} of {d:,} input columns are linear combinations of the others, beyond repeated ones.",
            f"numerical rank in float64, {some}",
        ),
        *judge(
            "constant-columns", counts[0],
            f"{len(constant):,} of {d:,} input columns {_be(constant)} constant ({_list(data, constant)}).",
            f"exact, {told}", means="Their weights are arbitrary: nothing in the data constrains them.",
        ),
        *judge(
            "collinear-columns", counts[1],
            f"{len(repeated):,} of {d:,} input columns {verb} another one ({_list(data, repeated)}).",
            f"correlation within {1 - SAME:.0e} of ± 1 in float64, {some}",
        ),
        *judge(
            "column-scales", counts[2],
            f"The standard deviations of the columns that the first layer gets differ by a factor of {ratio:,.0f}.",
            f"computed in float64, {some}", judged_by=ratio if is_known else 1.0,
        ),
    )  # fmt: skip
    return facts, findings


def _seen_by_first_layer(net: Network, data: Dataset) -> np.ndarray:
    scaled = net.behind_scaling().data
    return data.x if scaled is None else scaled.x


def _repeated_columns(x: np.ndarray) -> np.ndarray:
    """Columns with a correlation of ± 1 to an earlier one."""
    spread = x.std(0)
    some = np.flatnonzero(spread > 1e-12 * np.abs(x).max(initial=0.0))
    if len(x) < 3 or not 1 < len(some) <= MOST_COLUMNS:
        return np.zeros(0, int)
    unit = (x[:, some] - x[:, some].mean(0)) / (spread[some] * np.sqrt(len(x)))
    alike = np.abs(unit.T @ unit) >= SAME
    return some[np.flatnonzero(np.triu(alike, 1).any(0))]


def _dependent_columns(x: np.ndarray, constant: int, repeated: int) -> int:
    """How many columns could be left out, beyond those that are constant or repeat another, without a loss of rank."""
    n, d = x.shape
    if not 1 < d <= min(MOST_COLUMNS, n - 1):
        return 0
    centred = x - x.mean(0)
    scale = np.linalg.norm(centred, axis=0)
    rank = int(np.linalg.matrix_rank(centred / np.where(scale > 0, scale, 1.0)))
    return max(d - constant - repeated - rank, 0)


def _be(items: np.ndarray) -> str:
    return "is" if len(items) == 1 else "are"


def _list(data: Dataset, columns: np.ndarray) -> str:
    names = [data.columns[k] if k < len(data.columns) else str(k) for k in columns[:SHOWN].tolist()]
    return ", ".join(names) + (", …" if len(columns) > SHOWN else "")


def _balance(
    data: Dataset, classes: np.ndarray, told: str
) -> tuple[Fact, tuple, tuple[Chart, ...]]:
    """How much larger the largest class is than the smallest that is met."""
    met, counts = np.unique(classes, return_counts=True)
    ratio = Enclosure.equal(float(counts.max() / counts.min()))
    name = lambda k: data.classes[k] if k < len(data.classes) else str(k)
    rare = name(int(met[counts.argmin()]))
    says = f"Class {rare} has {counts.min():,} of {len(classes):,} rows, the largest {ratio.lo:.0f} times as many."
    fact = Fact("rows of the largest ÷ the smallest class", ratio, told, "imbalance")
    names = tuple(name(int(k)) for k in met)
    chart = Bars("rows of each class", Axis("rows"), names, ("",), (tuple(counts.tolist()),))
    return (
        fact,
        judge("imbalance", ratio, says, f"exact, {told}"),
        (chart,) if len(met) <= MOST_BARS else (),
    )


def duplicates(net: Network, rng: np.random.Generator) -> Part:
    """Rows that are equal, and those of them whose labels differ."""
    data = _data_of(net)
    told = describe_rows(len(data), data)
    group, counts = _group_rows(data.x)
    repeats = int((counts - 1).sum())
    n = len(data)
    value = Enclosure.exact(repeats)
    facts = [Fact("rows that repeat another row", value, told, "duplicates")]
    says = f"{repeats:,} of {n:,} rows repeat another row ({percent(repeats / n)})."
    findings = judge("duplicates", value, says, f"exact, {told}", judged_by=repeats / n)
    tables: tuple[Table, ...] = ()
    if data.y is not None:
        y = data.y.reshape(n, -1)
        clashing = _clashing_rows(group, y)
        is_regression = classes_of(net, y) is None
        judged = _judge_noise if is_regression else _judge_conflicts
        told_of_twins, said = judged(group, y, clashing, told)
        facts += told_of_twins
        findings += said
        tables = _twins(data, group, clashing)
    return Part(tuple(facts), tables, findings=findings)


def _judge_conflicts(
    group: np.ndarray, y: np.ndarray, clashing: np.ndarray, told: str
) -> tuple[list[Fact], tuple]:
    """Equal rows of different classes, and the error that no classifier can avoid on them."""
    n = len(y)
    found = Enclosure.exact(len(clashing))
    _, codes = np.unique(y[:, 0], return_inverse=True)
    counts = np.zeros((group.max() + 1, codes.max() + 1), int)
    np.add.at(counts, (group, codes.ravel()), 1)
    floor = n - int(counts.max(1).sum())
    facts = [
        Fact("rows with a twin that has another label", found, told, "conflicting_labels"),
        Fact(
            "noise floor: error of any classifier on these rows",
            Enclosure.equal(floor / n),
            told,
            "noise_floor",
        ),
    ]
    says = f"{len(clashing):,} of {n:,} rows have a twin with another label ({percent(len(clashing) / n)})."
    means = f"Any classifier is wrong on {floor:,} of these rows at least." if floor else ""
    share = len(clashing) / n
    return facts, judge(
        "conflicting-labels", found, says, f"exact, {told}", judged_by=share, means=means
    )


def _judge_noise(
    group: np.ndarray, y: np.ndarray, clashing: np.ndarray, told: str
) -> tuple[list[Fact], tuple]:
    """The squared error that no function of the inputs can avoid: the spread of the labels of equal rows."""
    n = len(y)
    sizes = np.bincount(group)
    means = np.stack(
        [np.bincount(group, column) / sizes for column in y.T.astype(np.float64)], axis=1
    )
    floor = float(((y - means[group]) ** 2).sum() / n)
    spread = float(((y - y.mean(0)) ** 2).sum(1).mean())
    value = Enclosure.equal(floor)
    facts = [
        Fact("noise floor: squared error of any function on these rows", value, told, "noise_floor")
    ]
    share = floor / spread if spread > 0 else 0.0
    says = (
        f"{len(clashing):,} of {n:,} rows have a twin with another label: no function of these inputs has a squared "
        f"error below {floor:.4g} ({percent(share)} of the variance of the labels)."
    )
    return facts, judge("noise-floor", value, says, f"computed in float64, {told}", judged_by=share)


def _group_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of the group of equal rows that each belongs to, and how many are in each."""
    keys = [row.tobytes() for row in np.ascontiguousarray(x.reshape(len(x), -1)) + 0]  # −0 + 0 = 0
    numbers: dict[bytes, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    return group, np.bincount(group)


def _clashing_rows(group: np.ndarray, y: np.ndarray) -> np.ndarray:
    first = np.zeros(group.max() + 1, int)
    first[group[::-1]] = np.arange(len(group))[::-1]
    differs = (y != y[first[group]]).any(1)
    return np.flatnonzero(np.isin(group, group[differs]))


def _twins(data: Dataset, group: np.ndarray, clashing: np.ndarray) -> tuple[Table, ...]:
    assert data.y is not None
    y = data.y.reshape(len(data), -1)
    rows = []
    for g in list(dict.fromkeys(group[clashing].tolist()))[:SHOWN]:
        here = np.flatnonzero(group == g)[:SHOWN]
        rows.append((", ".join(map(str, here)), ", ".join(f"{y[i][0]:g}" for i in here)))
    return (
        (Table("equal rows with different labels", ("rows", "labels"), tuple(rows)),)
        if rows
        else ()
    )


def shared_rows(net: Network, rng: np.random.Generator) -> Part:
    """Rows of the data that are also among those of training."""
    data = _data_of(net)
    train = _train_of(net)
    seen = {row.tobytes() for row in np.ascontiguousarray(flatten(train.x)) + 0}
    shared = np.array([row.tobytes() in seen for row in np.ascontiguousarray(flatten(data.x)) + 0])
    count = int(shared.sum())
    n = len(data)
    value = Enclosure.exact(count)
    told = f"of the {n:,} rows of {data.name}, the {len(train):,} of {train.name}"
    says = f"{count:,} of {n:,} rows were trained on ({percent(count / n)}): the test error is too good."
    listed = ", ".join(map(str, np.flatnonzero(shared)[:SHOWN]))
    means = f"Rows {listed}{' …' if count > SHOWN else ''} are in both files." if count else ""
    findings = judge("shared-rows", value, says, f"exact, {told}", judged_by=count / n, means=means)
    return Part(
        (Fact("rows shared with the rows of training", value, told, "shared_rows"),),
        findings=findings,
    )


def _train_of(net: Network) -> Dataset:
    if net.train_data is None:
        raise SubjectError(
            "This needs the rows of training.", got="none", remedy="add --train with x and y"
        )
    return net.train_data


def two_samples(net: Network, rng: np.random.Generator) -> Part:
    """Whether the data and the rows of training come from one law: a permutation test, of exact level."""
    data = _data_of(net)
    train = _train_of(net)
    if takes_tokens(net):
        raise SubjectError(
            "Token ids have no distances.", remedy="this is about inputs that are numbers"
        )
    some = [flatten(part.x[rng.permutation(len(part))[:TESTED]]) for part in (data, train)]
    spread = np.concatenate(some).std(0)
    scale = np.where(spread > 0, spread, 1.0)
    test = energy_test(some[0] / scale, some[1] / scale, rng)
    n, m = map(len, some)
    told = f"{n:,} rows of {data.name} against {m:,} of {train.name}, energy distance, {test.permutations} permutations"
    value = Enclosure.measured(test.p, samples=n + m)
    if test.p < 0.01:
        says = f"Data and rows of training differ in law (two-sample test, p = {test.p:.2g})."
    else:
        says = f"No shift between data and rows of training is seen (two-sample test, p = {test.p:.2g})."
    findings = judge("shift", value, says, f"measured, {n:,} and {m:,} rows, permutation test")
    return Part(
        (Fact("p-value of one law for data and training", value, told, "shift_p"),),
        findings=findings,
    )
