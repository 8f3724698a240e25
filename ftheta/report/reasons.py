"""The reasons of judgements in the language that is spoken. A result holds them in English, values filled in: they are
recognised by their templates."""

import re
from functools import cache

from ftheta.languages import ENGLISH, language, later, t

# as `ftheta.logic.claim` writes them; the first that fits
_TEMPLATES = (
    later("the enclosures of the two sides overlap"),
    later("the enclosures overlap but are wider than the tolerance"),
    later("the enclosures of the two sides are strictly apart"),
    later("equal in exact arithmetic"),
    later("equal within relative {rtol} and absolute {atol}"),
    later("equal within relative {rtol}"),
    later("exact arithmetic or outward rounding on both sides"),
    later("float64 within relative {rtol} and absolute {atol}"),
    later("float64 within relative {rtol}"),
    later("fitted slope in [{lo}, {hi}] over {n} scales; claimed exactly {order} (slack {slack})"),
    later("fitted slope in [{lo}, {hi}] over {n} scales; claimed at most {order} (slack {slack})"),
    later("at scale {scale} the distance is at most {distance}; asked: {within}"),
    later("what was found does not do; something else may"),
    later("the sample contradicts the claim, without a witness to check again"),
    later("float64 contradicts the claim, without a witness to check again"),
    later("the claim fails at a point in float64, where rounding may be all there is"),
    later("fails at the witness, re-checked: {how}"),
    later(
        "float64 contradicts the claim at a point where it cannot be evaluated again with an error bound"
    ),
    later("the witness did not survive being checked again"),
    later("1 sample at nominal confidence {share}; nothing contradicts"),
    later("{n} samples at nominal confidence {share}; nothing contradicts"),
    later("1 sample at confidence {share}; nothing contradicts"),
    later("{n} samples at confidence {share}; nothing contradicts"),
    later("1 sample; nothing contradicts"),
    later("{n} samples; nothing contradicts"),
    later("{count}; nothing contradicts"),
)
_PLACE = re.compile(r"\\\{(\w+)\\\}")


def translate_reason(reason: str) -> str:
    """The reason in the language that is spoken; one that no template fits as it is."""
    if language() == ENGLISH:
        return reason
    for template in _TEMPLATES:
        if found := _pattern(template).fullmatch(reason):
            return t(template, **found.groupdict())
    return reason


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_PLACE.sub(r"(?P<\1>.+)", re.escape(template)))
