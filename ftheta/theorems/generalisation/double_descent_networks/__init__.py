"""Double descent of trained networks: by width, by number of rows, and along training."""

from typing import Annotated, Any

import numpy as np

from ftheta.datasets import dataset
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Knob,
    Series,
    SubjectError,
    UsageError,
    hypothesis,
    theorem,
)
from ftheta.risks.learners import (
    Curve,
    Setting,
    by_rows,
    by_steps,
    by_width,
    linear_descent,
    split_rows,
    two_speeds,
    unit_targets,
    widths_between,
)
from ftheta.subjects import Dataset

AXES = {"width": "hidden units h", "rows": "training rows n", "steps": "optimisation steps"}
CLEAR = 1.05  # a peak is this many times as high as what it stands between
KINDS = ("digits", "mnist1d", "two speeds")


def load_rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "digits",
) -> Dataset:
    if kind == "two speeds":
        return Dataset(kind, *two_speeds(rng, 1100))
    found = dataset(kind)
    return Dataset(kind, found.x, found.y)


@hypothesis(
    "there are labelled rows to train and to test on",
    remedy="lower --n, or give more labelled rows",
)
def rows_left(data: Dataset, *, n: int, along: str) -> Finding:
    note = f"{len(data):,} rows, {'up to ' if along == 'rows' else ''}n = {n}"
    return (
        Finding.proved(note, "counted")
        if data.y is not None and len(data) >= n + 50
        else Finding.failed(note)
    )


@hypothesis("the labels are noisy, or the inputs have several scales", remedy="raise --noise")
def something_to_overfit(data: Dataset, *, noise: float) -> Finding:
    note = f"{noise:.0%} of the labels are made wrong; clean labels show the peak less, or not"
    return Finding.assumed(note)


@theorem(
    title="Double descent of trained networks",
    gist="With noisy labels the test error of a network peaks where it just fits its training data, then falls with "
    "more width or longer training; near the peak even more data can hurt.",
    see_also=("double-descent", "double-descent-random-features", "grokking", "explicit-regularisation"),
    sources=("scaman-slides", "belkin2019", "nakkiran2021", "heckel2021"),
    assumes=(rows_left, something_to_overfit),
    on=load_rows,
    unbreakable="a phenomenon: it is seen or it is not, and a run without it refutes nothing",
    presets={
        "textbook": {},
        "thirty widths, five seeds": {"points": 30, "seeds": 5, "steps": 1000},
        "more rows hurt": {"along": "rows", "n": 1400, "width": 12, "points": 12, "steps": 1200},
        "along training": {
            "along": "steps", "kind": "two speeds", "n": 100, "noise": 0.0, "activation": "identity", "steps": 10_000,
            "seeds": 5,
        },
        "one-dimensional digits": {"kind": "mnist1d", "points": 9},
        "weight decay": {"decay": 3.0},
        "at the edge": {"width": 2, "points": 1, "seeds": 1, "steps": 50},
    },
)  # fmt: skip
def double_descent_networks(
    data: Dataset,
    rng: np.random.Generator,
    *,
    along: Annotated[str, Knob(says="what grows", choices=("width", "rows", "steps"))] = "width",
    n: Annotated[
        int,
        Knob(
            50, 1400, "training rows (the most, along rows)", "n", log=True, least=25, most=20_000
        ),
    ] = 800,
    width: Annotated[
        int, Knob(4, 256, "hidden units (the most, along width)", "h", log=True, least=2, most=2048)
    ] = 64,
    noise: Annotated[float, Knob(0, 0.5, "share of wrong training labels", most=1.0)] = 0.2,
    points: Annotated[int, Knob(5, 40, "widths or numbers of rows", least=1, most=200)] = 10,
    seeds: Annotated[int, Knob(1, 10, "networks trained for each", "S", least=1, most=100)] = 2,
    steps: Annotated[
        int, Knob(100, 10_000, "optimisation steps", "K", log=True, least=1, most=1_000_000)
    ] = 800,
    step: Annotated[
        float, Knob(1e-3, 0.1, "step of the optimiser", "τ", log=True, least=1e-5, most=1.0)
    ] = 0.02,
    decay: Annotated[float, Knob(0, 5, "weight decay", "λ", most=100)] = 0.0,
    activation: Annotated[
        str, Knob(says="of the hidden layer", choices=("relu", "tanh", "identity"))
    ] = "relu",
) -> Evidence:
    r"""Train networks with one hidden layer of $h$ units on $n$ rows with noisy labels. As $h$ grows the test error
    falls, rises to a peak where the $h(d+1+K)+K$ parameters just fit the labels, and falls again; at fixed $h$ more
    rows bring the network to its peak, so that more data can hurt; along training the test error of a network that
    learns at several speeds falls, rises and falls again."""
    if data.y is None:
        raise SubjectError("Networks are trained on labels.", where=data.name)
    setting = Setting(width, n, noise, steps, step, decay, activation)
    x = data.x.reshape(len(data), -1).astype(np.float64)
    return train_along(
        x, unit_targets(data.y), setting, along, points, int(rng.integers(2**31)), seeds
    )


def train_along(
    x: np.ndarray, y: np.ndarray, setting: Setting, along: str, points: int, first: int, seeds: int
) -> Evidence:
    """Train along `width`, `rows` or `steps`, and say what was seen; seeds are numbered from `first`."""
    numbered = range(first, first + seeds)
    if along == "steps":
        return _train_along_steps(x, y, setting, numbered)
    if along == "width":
        found = by_width(x, y, setting, widths_between(2, max(setting.width, 2), points), numbered)
    elif along == "rows":
        most = min(setting.rows, len(x) - 50)
        found = by_rows(x, y, setting, widths_between(max(20, most // 24), most, points), numbered)
    else:
        raise UsageError("Networks are compared along width, rows or steps.", got=along)
    errors = draw_errors(found, y.shape[1] > 1)
    numbers = {"parameters of the widest": Enclosure.exact(int(found.parameters.max()))}
    if found.threshold is not None:
        numbers["threshold"] = Enclosure.measured(float(found.at[found.threshold]), samples=seeds)
    return Evidence(
        claims=_claim_peak(found),
        charts=(draw_losses(found),) if errors is None else (errors, draw_losses(found)),
        numbers=numbers,
        summary=_summarise(found),
    )


def _train_along_steps(x: np.ndarray, y: np.ndarray, setting: Setting, seeds: range) -> Evidence:
    """One network along its training, with the closed form of a linear model where there is one target."""
    found = by_steps(x, y, setting, seeds)
    test = found.test_error.mean(0) if y.shape[1] > 1 else found.test_loss.mean(0)
    low, peak = find_first_minimum(test)
    chart = draw_errors(found, y.shape[1] > 1) or draw_losses(found)
    if y.shape[1] == 1:
        parts = [
            linear_descent(*split_rows(x, y, setting, seed), setting.step, found.at.tolist())
            for seed in seeds
        ]
        line = Series("linear model, closed form", found.at, np.mean(parts, 0), "other")
        chart = Curves(chart.title, chart.x, chart.y, (*chart.series, line))
    told = f"test error {test[low]:.3g} at step {found.at[low]:,}, {test[peak]:.3g} at step {found.at[peak]:,}"
    return Evidence(
        claims=_claim_two_descents(found, test, low, peak),
        charts=(chart,),
        numbers={
            "first minimum": _measure(found, test[low]),
            "peak": _measure(found, test[peak]),
            "end": _measure(found, test[-1]),
        },
        summary=f"{told}, {test[-1]:.3g} at the end; {found.seeds} networks of {setting.width} units",
    )


# ---- claims ---------------------------------------------------------------------------------------------------------


def _measure(found: Curve, value: float) -> Enclosure:
    return Enclosure.measured(float(value), samples=found.seeds)


def _claim_peak(found: Curve) -> tuple[Claim, ...]:
    """The test loss at the threshold stands above both sides; if nothing was fitted, there is nothing to claim but that
    more units fit better."""
    train = found.train_error.mean(0)
    test = found.test_loss.mean(0)
    if found.along == "width":
        what = "training error: widest, against narrowest"
        fits = AtMost(what, _measure(found, train[-1]), _measure(found, train[0]))
    else:
        what = "training error: fewest rows, against most rows"
        fits = AtMost(what, _measure(found, train[0]), _measure(found, train[-1]))
    i = found.threshold
    if i is None:
        return (fits,)
    left, right = (
        ("narrower", "widest") if found.along == "width" else ("with fewer rows", "most rows")
    )
    # the threshold is known up to its neighbours
    top = _measure(found, test[max(0, i - 1) : i + 2].max())
    before = _measure(found, CLEAR * test[:i].min())
    after = _measure(found, CLEAR * test[-1])
    return (
        fits,
        AtMost(f"test loss {left} (least), {CLEAR:g} times, against the threshold", before, top),
        AtMost(f"test loss {right}, {CLEAR:g} times, against the threshold", after, top),
    )


def _claim_two_descents(found: Curve, test: np.ndarray, low: int, peak: int) -> tuple[Claim, ...]:
    """The training loss falls; the test error falls, rises to a peak, and ends below its first minimum."""
    train = found.train_loss.mean(0)
    start = _measure(found, train[0])
    end = _measure(found, train[-1])
    first = _measure(found, test[low])
    what = f"first minimum, {CLEAR:g} times, against the peak after it"
    return (
        AtMost("training loss at the end, against the start", end, start),
        AtMost(what, _measure(found, CLEAR * test[low]), _measure(found, test[peak])),
        AtMost(
            "test error at the end, against the first minimum", _measure(found, test[-1]), first
        ),
    )


def find_first_minimum(values: np.ndarray) -> tuple[int, int]:
    """Where a curve first turns up for good (it rises by 5 % before it falls below), and its largest value after that;
    twice the last place if it never does."""
    low = 0
    for i, value in enumerate(values):
        if value < values[low]:
            low = i
        elif value > CLEAR * values[low]:
            return low, i + int(np.argmax(values[i:]))
    return len(values) - 1, len(values) - 1


def _summarise(found: Curve) -> str:
    test = found.test_loss.mean(0)
    error = found.test_error.mean(0)
    i = found.threshold
    if i is None:
        return (
            f"no threshold in sight: training error {found.train_error.mean(0).min():.1%} at best"
        )
    peak = int(test.argmax())
    return (
        f"labels just fitted at {found.along} {found.at[i]}; test error {error[:i].min():.1%} before it, "
        f"{error[max(0, i - 1) : i + 2].max():.1%} near it, {error[-1]:.1%} at {found.along} {found.at[-1]}; "
        f"largest test loss {test[peak]:.3g} at {found.at[peak]}; {found.seeds} seeds"
    )


# ---- charts ---------------------------------------------------------------------------------------------------------


def draw_errors(found: Curve, classes: bool) -> Curves | None:
    """Training and test error in per cent, with the threshold."""
    if not classes:
        return None
    series = [
        _draw_band("test error", found.at, 100 * found.test_error, "measured"),
        _draw_band("training error", found.at, 100 * found.train_error, "reference"),
    ]
    if found.threshold is not None:
        here = float(found.at[found.threshold])
        series.append(
            Series(
                "labels just fitted",
                [here, here],
                [0, 100 * float(found.test_error.max())],
                "bound",
            )
        )
    return Curves(
        _title(found, "error"), Axis(AXES[found.along], "log"), Axis("error in %"), tuple(series)
    )


def draw_losses(found: Curve) -> Curves:
    """Training and test loss."""
    series = (
        _draw_band("test loss", found.at, np.maximum(found.test_loss, 1e-9), "measured"),
        _draw_band("training loss", found.at, np.maximum(found.train_loss, 1e-5), "reference"),
    )
    axis = Axis("loss", "linear" if found.along == "steps" else "log")
    return Curves(_title(found, "loss"), Axis(AXES[found.along], "log"), axis, series)


def _draw_band(name: str, at: np.ndarray, rows: np.ndarray, role: Any) -> Series:
    band = {"lo": rows.min(0), "hi": rows.max(0)} if len(rows) > 1 else {}
    return Series(name, at, rows.mean(0), role, **band)


def _title(found: Curve, of: str) -> str:
    s = found.setting
    fixed = {
        "width": f"{s.rows} rows",
        "rows": f"{s.width} hidden units",
        "steps": f"{s.width} hidden units, {s.rows} rows",
    }
    kind = {"width": "model-wise", "rows": "sample-wise", "steps": "epoch-wise"}[found.along]
    noise = f", {s.noise:.0%} label noise" if s.noise else ""
    return f"{kind} double descent of the {of}: {fixed[found.along]}{noise}"
