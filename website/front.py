"""The front page: what the field comes to (wider, deeper, attention), two commands, an audit."""

from collections.abc import Callable
from html import escape

from ftheta.logic import Result

from .contents import Contents
from .markup import code_lines, heading, html_block, join, toctree
from .pictures import picture_html

WAYS = (  # as Peyré's slides sum the field up
    ("Going wider", "function approximation", "two-layer-ridge-sum"),
    ("Going deeper", "differential equations", "flow-diffeomorphism"),
    ("Attention", "interacting particles", "attention-particle-flow"),
)
_LEAD = (
    "Every statement is an executable theorem: it checks its hypotheses on a network, a function or data (a built-in "
    "example or your own), computes the bound, measures the truth beside it, draws it, and gives a verdict that never "
    "says more than was shown."
)
_COMMANDS = (
    "make demo    # set up, audit the small trained network that ships with the project, write demo/report.html",
    "ftheta lab   # every theorem with its sliders, in your browser",
)
_NEEDS = "Python 3.11 or later and make are all that a checkout needs; afterwards everything works offline."
_AUDIT = (
    "An audit of a small trained network: findings first, each with its number and how it is known."
)


def front_page(
    contents: Contents, read: Callable[[str], Result | None], guide: dict[str, str]
) -> str:
    """The root of the site; `guide` are the narrative pages, titles by name."""
    counts = (
        f'<p><a href="gallery.html">{len(contents.theorems)} theorems</a> in {len(contents.chapters)} chapters · '
        f'<a href="courses/index.html">{len(contents.courses)} lecture courses</a> · '
        '<a href="api/index.html">Python reference</a> · <a href="docs/trust.html">why to trust a verdict</a></p>'
    )
    image = '<img src="_static/audit.png" alt="The first page of an audit">'
    picture = f'<figure><a class="crop" href="docs/audit.html">{image}</a>'
    return join(
        heading(1, "The mathematics of deep learning, running"),
        html_block(f'<p class="gist">{escape(_LEAD)}</p>', counts),
        html_block(code_lines(*_COMMANDS), f'<p class="faint">{_NEEDS}</p>'),
        html_block(f'<div class="ways">{"".join(_way(*way, read) for way in WAYS)}</div>'),
        heading(2, "Audit a network of your own"),
        html_block(
            code_lines("ftheta audit digits-mlp --data digits-test --budget 20s --out report.html"),
            f"{picture}<figcaption>{escape(_AUDIT)}</figcaption></figure>",
        ),
        toctree({"gallery": "Gallery"}, "Theorems"),
        toctree({"courses/index": "Courses"}, "Courses"),
        toctree(guide, "Guide"),
        toctree(
            {
                "api/index": "Python reference",
                "cite": "How to cite",
                "CONTRIBUTING": "Contributing",
            },
            "Reference",
        ),
        toctree({"docs/releasing": "Versions and platforms", "CHANGELOG": "Changelog"}),
    )


def _way(name: str, concept: str, id: str, read: Callable[[str], Result | None]) -> str:
    words = f"<span><b>{escape(name)}</b> ∼ {escape(concept)}</span>"
    return f'<a class="tile" href="theorems/{id}.html">{picture_html(read(id))}{words}</a>'
