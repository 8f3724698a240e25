"""The values of one knob at which a page is computed ahead, and those at which the slider of a class stops."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from ftheta.logic import UsageError, suggest
from ftheta.logic.knob import Setting, Value

FEWEST = 2
MOST = 200
STOPS = 100  # of a slider in a lecture hall: so few that pages meet at the same ones
_DIGITS = 3  # that are read at a glance


def choose_knob(settings: Sequence[Setting], wanted: str | None) -> Setting:
    """The knob of this name; without a name the first one with a range, or else the first with a list of choices."""
    ranged = [s for s in settings if s.type in ("int", "float")]
    listed = [s for s in settings if s.knob.choices]
    names = [option_of(s) for s in settings]
    if wanted is None:
        if not ranged and not listed:
            remedy = "`ftheta check ID --out page.html` writes a page without a slider"
            raise UsageError("This theorem has no knob with a range.", remedy=remedy)
        return (ranged or listed)[0]
    chosen = next((s for s in settings if s.name == wanted.lstrip("-").replace("-", "_")), None)
    if chosen is None:
        offered = f"choose one of {', '.join(names) or 'none'}"
        raise UsageError(
            "This theorem has no such knob.",
            got=wanted,
            remedy=suggest(f"--{wanted}", names, offered),
        )
    if chosen not in ranged and chosen not in listed:
        good = ", ".join(option_of(s) for s in settings if s in ranged or s in listed)
        raise UsageError(
            "This knob has no range.",
            got=option_of(chosen),
            remedy=f"choose one of {good or 'none'}",
        )
    return chosen


def option_of(setting: Setting) -> str:
    """The knob as the command line calls it."""
    return f"--{setting.name.replace('_', '-')}"


def positions_of(setting: Setting, points: int, current: Value) -> list[Value]:
    """So many values between the ends of the slider, in equal steps or equal ratios, the current one among them; of a
    list of choices, all. Whole numbers may be fewer."""
    if setting.knob.choices:
        return list(setting.knob.choices)
    if not FEWEST <= points <= MOST:
        raise UsageError(
            "So many positions are not computed.", got=points, remedy=f"give {FEWEST} to {MOST}"
        )
    assert isinstance(current, (int, float))
    values = _round_all(setting, [_spread(setting, i / (points - 1)) for i in range(points)])
    inner = range(1, points - 1)
    if current not in values and inner and values[0] < current < values[-1]:
        nearest = min(inner, key=lambda i: abs(values[i] - current))
        values[nearest] = current
    return list[Value](sorted({*values, current}))


def stops_of(setting: Setting) -> list[Value]:
    """The positions of a knob in a lecture hall, in round steps where they are equal; none for free text."""
    if setting.type == "bool":
        return [False, True]
    if setting.type == "str" or setting.knob.log:
        return positions_of(setting, STOPS, setting.default) if _is_placed(setting) else []
    step = _round_step((setting.knob.hi - setting.knob.lo) / STOPS)
    if setting.type == "int":
        step = max(step, 1)
    inner = range(ceil(setting.knob.lo / step), floor(setting.knob.hi / step) + 1)
    ends = (setting.knob.lo, setting.knob.hi, setting.default)
    number = int if setting.type == "int" else float
    rounded = {number(f"{i * step:.12g}") for i in inner}
    return list[Value](sorted(rounded | {number(value) for value in ends}))


def _is_placed(setting: Setting) -> bool:
    return setting.type != "str" or bool(setting.knob.choices)


def _round_step(rough: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not smaller."""
    power = 10.0 ** floor(log10(rough))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))


def _round_all(setting: Setting, grid: Sequence[float]) -> list[float]:
    """The values as one would choose them: whole, or of a few digits where that keeps them apart; the ends as they
    are."""
    if setting.type == "int":
        return [round(value) for value in grid]
    short = [float(f"{value:.{_DIGITS}g}") for value in grid[1:-1]]
    rounded = [float(setting.knob.lo), *short, float(setting.knob.hi)]
    return rounded if len(set(rounded)) == len(grid) else list(grid)


def _spread(setting: Setting, share: float) -> float:
    """The value at this share of the slider."""
    lo = float(setting.knob.lo)
    hi = float(setting.knob.hi)
    if setting.knob.log and lo > 0:
        return lo * (hi / lo) ** share
    return lo + share * (hi - lo)


def knobs_of(
    settings: Sequence[Setting], preset: Mapping[str, Value], given: Mapping[str, Value]
) -> dict[str, Value]:
    """Where every knob stands: given, by the preset, or by default."""
    return {s.name: given.get(s.name, preset.get(s.name, s.default)) for s in settings}
