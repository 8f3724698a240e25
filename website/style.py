"""The style sheet of the site: that of the reports, inside of the blocks that come from their code, and a little more.

The colours of verdicts and figures are stated once, in `ftheta/report/page.css` and in the theme of the charts.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import ftheta.report
from ftheta.report.charts.theme import dark_colours
from ftheta.report.explained import hint_rules

REPORT = Path(ftheta.report.__file__).parent
OWN = Path(__file__).parent / "static" / "site.css"
_DARK = "@media screen and (prefers-color-scheme: dark)"
_OF_THE_WHOLE_PAGE = (":root", "*", "html", "body", "main", "a", "@media print", _DARK)
_FONTS = ("ftheta-math.woff2", "DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


def write_style(folder: Path) -> None:
    """The style sheet and its fonts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "site.css").write_text(style_sheet(), encoding="utf-8")
    for font in _FONTS:
        shutil.copyfile(REPORT / "fonts" / font, folder / font)


def style_sheet() -> str:
    """Colours by day and by night, the rules of the reports, and those of the site."""
    rules = dict(top_rules((REPORT / "page.css").read_text(encoding="utf-8")))
    day = rules[":root"].replace("color-scheme: light dark;", "")
    night = dict(top_rules(rules[_DARK]))[":root"]
    swaps = "".join(
        f'figure [fill="{light}"]{{fill:{dark}}}figure [stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in dark_colours().items()
    )
    shared = "".join(
        f"{head}{{{body}}}\n" for head, body in rules.items() if head not in _OF_THE_WHOLE_PAGE
    )
    dark = f"{night}{swaps}"
    return "\n".join(
        [
            f".ftheta{{{day}}}",
            f'body[data-theme="dark"] .ftheta{{{dark}}}',
            f'@media (prefers-color-scheme: dark){{body:not([data-theme="light"]) .ftheta{{{dark}}}}}',
            f".ftheta{{{shared}}}",
            OWN.read_text(encoding="utf-8"),
            hint_rules(),
            "",
        ]
    )


def top_rules(css: str) -> Iterator[tuple[str, str]]:
    """The outermost rules of a style sheet: what stands before the braces, and what in them. Equal heads are joined."""
    found: dict[str, str] = {}
    depth = 0
    head = ""
    start = 0
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    for here, letter in enumerate(css):
        if letter == "{":
            if depth == 0:
                head = css[start:here].strip()
                start = here + 1
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                found[head] = found.get(head, "") + css[start:here]
                start = here + 1
    yield from found.items()
