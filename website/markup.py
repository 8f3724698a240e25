"""Sources for Sphinx: headings in Markdown, everything else as HTML that the project's own views make."""

import re
from collections.abc import Mapping
from html import escape

from ftheta.report.letters import letters
from ftheta.report.mathml import words_html

_FENCE = "`" * 8
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def plain_markdown(text: str) -> str:
    """Text in which no letter is a mark of Markdown; formulas are written in letters."""
    return _MARKS.sub(r"\\\1", letters(text))


def heading(level: int, title: str) -> str:
    """A heading; pages are found and listed by them."""
    return f"{'#' * level} {plain_markdown(title)}\n"


def html_block(*parts: str) -> str:
    """HTML that Sphinx hands on as it is."""
    body = "\n".join(part for part in parts if part)
    return f'{_FENCE}{{raw}} html\n<div class="ftheta">\n{body}\n</div>\n{_FENCE}\n' if body else ""


def toctree(names: Mapping[str, str], caption: str = "", *, hidden: bool = True) -> str:
    """The pages below this one: title by the name of the document."""
    options = [":hidden:"] if hidden else []
    options += [f":caption: {caption}"] if caption else []
    lines = [
        f"{letters(title).replace('<', '‹').replace('>', '›')} <{name}>"
        for name, title in names.items()
    ]
    return "\n".join(["```{toctree}", *options, "", *lines, "```", ""])


def join(*parts: str) -> str:
    """A page of these parts; empty ones are left out."""
    return "\n".join(part for part in parts if part)


def paragraph(text: str, kind: str = "") -> str:
    """A sentence with formulas."""
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{words_html(text)}</p>"


def link(address: str, title: str) -> str:
    """A link to a place of the site; `address` is relative to the page."""
    return f'<a href="{escape(address)}">{words_html(title)}</a>'


def code_lines(*lines: str) -> str:
    """Lines for a terminal or a file."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def fold(title: str, body: str) -> str:
    """What is shown when asked for."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def anchor_html(name: str) -> str:
    """A place that links lead to."""
    return f'<span id="{escape(name)}"></span>'
