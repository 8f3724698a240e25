"""Formulas of narrative pages and docstrings as MathML, by the project's own reader: nothing is left to a script."""

from ftheta.report.mathml import UNREAD, mathml


def formula_html(latex: str, *, display: bool, number: str = "") -> str:
    """One formula; a displayed one stands in a block of its own, with its number where it has one."""
    made = mathml(latex, display=display)
    if not display:
        return made
    numbered = f'<span class="eqno">({number})</span>' if number else ""
    return f'<div class="math">{numbered}{made}</div>'


def is_unread(html: str) -> bool:
    """Whether a formula of this piece of a page could not be read."""
    return f'class="{UNREAD}"' in html
