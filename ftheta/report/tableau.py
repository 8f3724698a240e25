"""A differentiated program (`ft.graph`) as a page, a document and the output of a notebook cell."""

from base64 import b64encode
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .described import describe_chart
from .letters import letters
from .page import data_table, page
from .render import figure, png
from .save import _write as write
from .save import ensure_savable, save
from .vega import vega

if TYPE_CHECKING:
    from ftheta.graph import Tableau


def save_tableau(found: "Tableau", path: Path) -> None:
    """`.html` is the table and the graph, `.json` the numbers; the other forms are the picture alone."""
    ensure_savable(path)
    if path.suffix.lower() == ".html":
        write(path, tableau_page(found))
    elif path.suffix.lower() == ".json":
        import json

        write(path, json.dumps(document(found), ensure_ascii=False, indent=1) + "\n")
    else:
        save(found.picture, path)


def document(found: "Tableau") -> dict[str, Any]:
    """The table, the gradient and what is wrong with the point, as plain data."""
    table = found.full_table
    return {
        "title": table.title,
        "value": _finite(found.result),
        "gradient": {
            name: _finite(g) for name, g in zip(found.coordinates, found.gradient.tolist())
        },
        "nodes": [dict(zip(table.columns, row)) for row in table.rows],
        "trouble": found.trouble,
    }


def tableau_page(found: "Tableau") -> str:
    """One page without script: the graph, then the table of both sweeps."""
    warned = "".join(
        f"<p><b>No derivative here:</b> {escape(note)}</p>" for note in found.trouble[:3]
    )
    body = [
        f"<h1>{escape(letters(found.title))}</h1>",
        f'<p class="under">{escape(letters(found.closing))}</p>',
        warned,
        f"<figure>{figure(found.picture, width=1000)}<figcaption>below a node: value | adjoint</figcaption></figure>",
        data_table(found.full_table),
        "<p>Read the table downwards for the forward sweep, upwards for the reverse sweep.</p>",
    ]
    return page(found.title, body)


def mimebundle(found: "Tableau", include: Any = None, exclude: Any = None) -> dict[str, str]:
    """The forms in which a notebook can show it: HTML (untrusted notebooks strip SVG, so with a PNG), plain text."""
    image = b64encode(png(vega(found.picture), 2.0)).decode()
    label = escape(describe_chart(found.picture), quote=True)
    drawn = f'<img alt="{label}" style="max-width:100%" src="data:image/png;base64,{image}">'
    return {"text/html": f"{drawn}<pre>{escape(str(found))}</pre>", "text/plain": str(found)}


def _finite(number: float) -> float | str:
    """JSON has no NaN."""
    return number if number - number == 0 else str(number)
