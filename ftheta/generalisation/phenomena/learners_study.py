"""What trained networks show along width, rows and steps: figures as in Nakkiran et al. (2021), and what they claim."""

from typing import Any

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Series, UsageError

from .learners import Curve, Setting, by_rows, by_steps, by_width, linear_descent, split_rows, widths_between

AXES = {"width": "hidden units h", "rows": "training rows n", "steps": "optimisation steps"}
CLEAR = 1.05  # a peak is this many times as high as what it stands between


def network_evidence(
    x: np.ndarray, y: np.ndarray, setting: Setting, along: str, points: int, first: int, seeds: int
) -> Evidence:
    """Train along `width`, `rows` or `steps`, and say what was seen."""
    numbered = range(first, first + seeds)
    if along == "steps":
        return _steps_evidence(x, y, setting, numbered)
    if along == "width":
        found = by_width(x, y, setting, widths_between(2, max(setting.width, 2), points), numbered)
    elif along == "rows":
        most = min(setting.rows, len(x) - 50)
        found = by_rows(x, y, setting, widths_between(max(20, most // 24), most, points), numbered)
    else:
        raise UsageError("Networks are compared along width, rows or steps.", got=along)
    charts, i = tuple(c for c in (error_chart(found, y.shape[1] > 1), loss_chart(found)) if c), found.threshold
    numbers = {"parameters of the widest": Enclosure.exact(int(found.parameters.max()))}
    if i is not None:
        numbers["threshold"] = Enclosure.measured(float(found.at[i]), samples=seeds)
    return Evidence(claims=_peak_claims(found), charts=charts, numbers=numbers, summary=_told(found))


def _peak_claims(found: Curve) -> tuple[Claim, ...]:
    """The test loss at the threshold stands above both sides; if nothing was fitted, there is nothing to claim but that
    more units fit better."""
    known = lambda value: Enclosure.measured(float(value), samples=found.seeds)
    train, test, i = found.train_error.mean(0), found.test_loss.mean(0), found.threshold
    ends = (train[-1], train[0]) if found.along == "width" else (train[0], train[-1])
    names = ("widest", "narrowest") if found.along == "width" else ("fewest rows", "most rows")
    fits = AtMost(f"training error: {names[0]}, against {names[1]}", known(ends[0]), known(ends[1]))
    if i is None:
        return (fits,)
    top = float(test[max(0, i - 1) : i + 2].max())  # the threshold is known up to its neighbours
    left, right = ("narrower", "widest") if found.along == "width" else ("with fewer rows", "most rows")
    return (
        fits,
        AtMost(
            f"test loss {left} (least), {CLEAR:g} times, against the threshold",
            known(CLEAR * test[:i].min()),
            known(top),
        ),
        AtMost(f"test loss {right}, {CLEAR:g} times, against the threshold", known(CLEAR * test[-1]), known(top)),
    )


def _steps_evidence(x: np.ndarray, y: np.ndarray, setting: Setting, seeds: range) -> Evidence:
    found = by_steps(x, y, setting, seeds)
    test = found.test_error.mean(0) if y.shape[1] > 1 else found.test_loss.mean(0)
    low, peak = first_minimum(test)
    known = lambda value: Enclosure.measured(float(value), samples=found.seeds)
    claims = (
        AtMost(
            "training loss at the end, against the start",
            known(found.train_loss.mean(0)[-1]),
            known(found.train_loss.mean(0)[0]),
        ),
        AtMost(
            f"first minimum, {CLEAR:g} times, against the peak after it", known(CLEAR * test[low]), known(test[peak])
        ),
        AtMost("test error at the end, against the first minimum", known(test[-1]), known(test[low])),
    )
    chart = error_chart(found, y.shape[1] > 1) or loss_chart(found)
    if y.shape[1] == 1:
        parts = [linear_descent(*split_rows(x, y, setting, seed), setting.step, found.at.tolist()) for seed in seeds]
        line = Series("linear model, closed form", found.at, np.mean(parts, 0), "other")
        chart = Curves(chart.title, chart.x, chart.y, (*chart.series, line))
    told = f"test error {test[low]:.3g} at step {found.at[low]:,}, {test[peak]:.3g} at step {found.at[peak]:,}"
    return Evidence(
        claims=claims,
        charts=(chart,),
        numbers={"first minimum": known(test[low]), "peak": known(test[peak]), "end": known(test[-1])},
        summary=f"{told}, {test[-1]:.3g} at the end; {found.seeds} networks of {setting.width} units",
    )


def first_minimum(values: np.ndarray) -> tuple[int, int]:
    """Where a curve first turns up for good (it rises by 5 % before it falls below), and its largest value after that;
    twice the last place if it never does."""
    low = 0
    for i, value in enumerate(values):
        if value < values[low]:
            low = i
        elif value > CLEAR * values[low]:
            return low, i + int(np.argmax(values[i:]))
    return len(values) - 1, len(values) - 1


def error_chart(found: Curve, classes: bool) -> Curves | None:
    """Training and test error in per cent, with the threshold."""
    if not classes:
        return None
    series = [
        _band("test error", found.at, 100 * found.test_error, "measured"),
        _band("training error", found.at, 100 * found.train_error, "reference"),
    ]
    if found.threshold is not None:
        here = float(found.at[found.threshold])
        series.append(Series("labels just fitted", [here, here], [0, 100 * float(found.test_error.max())], "bound"))
    return Curves(_title(found), Axis(AXES[found.along], "log"), Axis("error in %"), tuple(series))


def loss_chart(found: Curve) -> Curves:
    series = (
        _band("test loss", found.at, np.maximum(found.test_loss, 1e-9), "measured"),
        _band("training loss", found.at, np.maximum(found.train_loss, 1e-5), "reference"),
    )
    axis = Axis("loss", "linear" if found.along == "steps" else "log")
    return Curves(_title(found), Axis(AXES[found.along], "log"), axis, series)


def _band(name: str, at: np.ndarray, rows: np.ndarray, role: Any) -> Series:
    band = {"lo": rows.min(0), "hi": rows.max(0)} if len(rows) > 1 else {}
    return Series(name, at, rows.mean(0), role, **band)


def _title(found: Curve) -> str:
    s = found.setting
    fixed = {
        "width": f"{s.rows} rows",
        "rows": f"{s.width} hidden units",
        "steps": f"{s.width} hidden units, {s.rows} rows",
    }
    kind = {"width": "model-wise", "rows": "sample-wise", "steps": "epoch-wise"}[found.along]
    noise = f", {s.noise:.0%} label noise" if s.noise else ""
    return f"{kind} double descent: {fixed[found.along]}{noise}"


def _told(found: Curve) -> str:
    test, error, i = found.test_loss.mean(0), found.test_error.mean(0), found.threshold
    if i is None:
        return f"no threshold in sight: training error {found.train_error.mean(0).min():.1%} at best"
    peak = int(test.argmax())
    return (
        f"labels just fitted at {found.along} {found.at[i]}; test error {error[:i].min():.1%} before it, "
        f"{error[max(0, i - 1) : i + 2].max():.1%} there, {error[-1]:.1%} at {found.along} {found.at[-1]}; "
        f"largest test loss {test[peak]:.3g} at {found.at[peak]}; {found.seeds} seeds"
    )
