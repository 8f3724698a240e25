"""Numbers and enclosures as people read them."""

import re
from math import isinf, isnan

from ftheta.languages.catalogues import t
from ftheta.logic.enclosure import Basis, Enclosure

_EXPONENT = re.compile(r"(?<=\d)e(-?\d+)\b")
_RAISED = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")


def number(x: float | str, digits: int = 4) -> str:
    """A number in at most so many digits: 989,991 · 4.13 · 2.38e-5 · ∞. Text stays as it is."""
    if isinstance(x, str):
        return x
    if isinstance(x, bool):
        return t("yes") if x else t("no")
    if isnan(x):
        return t("not a number")
    if isinf(x):
        return "∞" if x > 0 else "−∞"
    if x == int(x) and abs(x) < 1e12:
        return _minus(f"{int(x):,}")
    if 10**digits - 0.5 <= abs(x) < 1e6:
        return _minus(f"{x:,.0f}")
    return _minus(tidy(f"{x:.{digits}g}" if 1e-4 <= abs(x) < 1e6 else f"{x:.{digits - 1}e}"))


def _minus(text: str) -> str:
    return f"−{text[1:]}" if text.startswith("-") else text


def tidy(text: str) -> str:
    """Without trailing zeros and with a plain exponent: 2.380e-05 becomes 2.38e-5."""
    digits, _, power = text.partition("e")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits}e{int(power)}" if power else digits


def typeset(text: str) -> str:
    """The numbers of a text with raised exponents: `2.38e-5` as 2.38×10⁻⁵."""
    return _EXPONENT.sub(lambda found: f"×{power_of_ten(int(found[1]))}", text)


def power_of_ten(exponent: int) -> str:
    """10⁻⁵, written with raised digits."""
    return "10" + str(exponent).translate(_RAISED)


def quantity(name: str, e: Enclosure) -> str:
    """`enclosure` of what is called so: the *year of* something is 1986, not 1,986."""
    is_year = re.match(r"year\b", name) is not None and e.is_point and e.lo == int(e.lo)
    return f"{int(e.lo)}" if is_year else enclosure(e)


def enclosure(e: Enclosure) -> str:
    """`4.13`, `≥ 4.13`, `≤ 17.4`, `[4.1, 4.2]`, `4.13 ± 0.02 (95 %)`, `… (nominal 95 %)` or `unknown`."""
    if isinf(e.lo) and isinf(e.hi):
        return number(e.lo) if e.is_point else t("unknown")
    if isinf(e.hi):
        return f"≥ {number(e.lo)}"
    if isinf(e.lo):
        return f"≤ {number(e.hi)}"
    if e.level is not None:
        return f"{number(e.middle)} ± {number(e.width / 2, 2)} ({_nominally(e)}{_percent(e.level)})"
    if e.width <= 1e-4 * max(abs(e.lo), abs(e.hi)):
        return number(e.middle)
    return f"[{number(e.lo)}, {number(e.hi)}]"


def _percent(share: float) -> str:
    """95 %, and never 100 % for less than everything."""
    digits = 4 if share < 0.9995 else 12
    return f"{100 * share:.{digits}g} %"


def _share(share: float) -> str:
    """0.95, and never 1 for less than everything."""
    digits = 6 if share < 0.999995 else 12
    return f"{share:.{digits}g}"


def _nominally(e: Enclosure) -> str:
    """The word before a level that nothing guarantees at this number of samples."""
    return "" if e.nominal is None else "nominal "


def basis(e: Enclosure) -> str:
    """How a number is known, in a few words."""
    if e.basis is Basis.SAMPLED:
        confidence = "" if e.level is None else f" {_at_confidence(e, _share(e.level))}"
        assumed = f" ({e.assuming})" if e.assuming else ""
        return f"{e.sample_count}{confidence}{assumed}"
    return {Basis.EXACT: t("exact or rounded outward"), Basis.FLOAT: "float64"}[e.basis]


def _at_confidence(e: Enclosure, share: str) -> str:
    if e.nominal is None:
        return t("at confidence {share}", share=share)
    return t("at nominal confidence {share}", share=share)
