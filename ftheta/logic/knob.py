"""The knobs of a theorem: its keyword-only arguments, read off the signature once for every view."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from .errors import UsageError, suggest

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Knob:
    """Range and plain meaning of one argument.

    `lo` and `hi` are the ends of the slider. `least` and `most` are the values beyond which the theorem
    refuses to run; they default to the slider's ends, so give wider ones where typing may go further.
    `choices` replaces the range for words.
    """

    lo: float = 0.0
    hi: float = 1.0
    says: str = ""
    symbol: str = ""
    log: bool = False
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value that are accepted."""
        return (
            self.lo if self.least is None else self.least,
            self.hi if self.most is None else self.most,
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """A knob with its name, type and default: what the command line, the lab and the schema read."""

    name: str
    type: str  # "int", "float", "bool" or "str"
    default: Value
    knob: Knob

    def parse(self, value: Any) -> Value:
        """The value in the knob's type and within its limits, or a UsageError that says what is wrong."""
        parsed = self._convert(value)
        if self.knob.choices and parsed not in self.knob.choices:
            offered = f"choose one of {', '.join(self.knob.choices)}"
            raise self._error(value, suggest(str(value), self.knob.choices, offered))
        if isinstance(parsed, (int, float)) and not isinstance(parsed, bool):
            least, most = self.knob.limits
            if not least <= parsed <= most:
                raise self._error(value, f"give a value between {least:g} and {most:g}")
        return parsed

    def _convert(self, value: Any) -> Value:
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        try:
            match self.type:
                case "bool":
                    return words[str(value).lower()]
                case "int":
                    whole = float(value)
                    if isinstance(value, bool) or whole != int(whole):
                        raise ValueError
                    return (
                        int(value)
                        if isinstance(value, (int, str)) and str(value).lstrip("+-").isdigit()
                        else int(whole)
                    )
                case "float":
                    number = float(value)
                    if isinstance(value, bool) or not isfinite(number):
                        raise ValueError
                    return number
                case _:
                    return str(value)
        except (ValueError, KeyError, TypeError, OverflowError):
            kinds = {"int": "a whole number", "float": "a finite number", "bool": "true or false"}
            raise self._error(
                value, f"give {kinds[self.type]}, for example {self.default}"
            ) from None

    def _error(self, value: Any, remedy: str) -> UsageError:
        meaning = f" ({self.knob.says})" if self.knob.says else ""
        option = f"--{self.name.replace('_', '-')}"
        what = f"Option {option}{meaning} cannot take this value."
        return UsageError(what, where=option, got=repr(value), remedy=remedy)


def settings_of(*functions: Callable[..., Any]) -> tuple[Setting, ...]:
    """The knobs of several functions together: their keyword-only arguments annotated with a Knob."""
    found: dict[str, Setting] = {}
    for function in functions:
        hints = get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in found:
                setting = _setting(parameter, hints.get(parameter.name))
                if setting is not None:
                    found[parameter.name] = setting
    return tuple(found.values())


def _setting(parameter: inspect.Parameter, hint: Any) -> Setting | None:
    if get_origin(hint) is not Annotated:
        return None  # a hypothesis or a subject may name a knob of the theorem without describing it again
    kind, *extras = get_args(hint)
    knob = next((k for k in extras if isinstance(k, Knob)), None)
    if knob is None:
        return None
    return Setting(parameter.name, kind.__name__, parameter.default, knob)


def parse_knobs(
    settings: tuple[Setting, ...], given: Mapping[str, Any], beside: Iterable[str] = ()
) -> dict[str, Value]:
    """All knobs with their values: the given ones checked, the others at their defaults. What may have been meant by an
    unknown name is looked for among those `beside` them too."""
    known = {s.name: s for s in settings}
    unknown = {name.replace("-", "_") for name in given} - set(known)
    if unknown:
        options = [f"--{name.replace('_', '-')}" for name in known]
        wrong = [f"--{name.replace('_', '-')}" for name in sorted(unknown)]
        offered = f"the options of this theorem are {', '.join(options) or 'none'}"
        near = suggest(wrong[0], [*options, *(f"--{name}" for name in beside)])
        remedy = " ".join(filter(None, (near, offered)))
        raise UsageError(f"Unknown option {', '.join(wrong)}.", remedy=remedy)
    values = {name.replace("-", "_"): value for name, value in given.items()}
    return {s.name: s.parse(values[s.name]) if s.name in values else s.default for s in settings}
