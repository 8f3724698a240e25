"""The small pictures of theorems: files beside the pages, one for the light and one for the dark."""

from html import escape
from pathlib import Path

from ftheta.lab.thumbnails import in_the_dark, thumbnail
from ftheta.languages import t
from ftheta.logic import Result
from ftheta.report.render import describe_chart

FOLDER = Path("_static/pictures")


def write_pictures(source: Path, result: Result) -> None:
    """The first chart of a stored run, without letters and axes, below the folder of the sources."""
    drawn = thumbnail(result)
    folder = source / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{result.id}.svg").write_text(drawn, encoding="utf-8")
    (folder / f"{result.id}-dark.svg").write_text(in_the_dark(drawn), encoding="utf-8")


def picture_html(result: Result | None, up: str = "") -> str:
    """The picture on a page; `up` leads from the page to the root of the site."""
    if result is None or not result.charts:
        return f'<span class="picture empty">{t("no stored run")}</span>'
    words = escape(describe_chart(result.charts[0]), quote=True)
    images = "".join(
        f'<img class="only-{mode}" loading="lazy" width="240" height="140" '
        f'src="{up}{FOLDER.as_posix()}/{name}.svg" alt="{words}">'
        for mode, name in (("light", result.id), ("dark", f"{result.id}-dark"))
    )
    return f'<span class="picture">{images}</span>'
