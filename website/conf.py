"""Configuration of Sphinx. `python -m website pages` puts it beside the generated pages."""

import re
from pathlib import Path

import jaxtyping  # noqa: F401  # before ftheta: signatures then state the shapes of arrays

import ftheta
import website
from ftheta.languages import speaking, t
from ftheta.report.page import reachable
from website.contents import project_version
from website.docstrings import to_restructured_text
from website.formulas import formula_html, is_unread

project = "ftheta"
author = "The ftheta authors"
copyright = "The ftheta authors, MIT licence"
release = version = project_version()

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
exclude_patterns = ["_static"]

html_theme = "furo"
html_title = f"ftheta {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = [str(Path(website.__file__).parent / "templates")]
html_favicon = str(Path(ftheta.__file__).parent / "lab" / "static" / "icon.svg")
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch every page found, which browsers forbid to files
html_math_renderer = "mathml"

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
add_module_names = False


def setup(app):
    """Our reader of formulas and of docstrings."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("autodoc-process-docstring", process_docstring)
    app.connect("autodoc-process-signature", shorten_signature)
    # after the theme has made its tree of pages
    app.connect("html-page-context", name_roles, priority=900)


SCROLLING = re.compile(r'<(?:pre|figure|div class="table-wrapper[^"]*")(?=[ >])')
"""The beginning of what is wider than some windows and scrolls by itself."""

ROWS_OF_SIGNATURE = re.compile(r"<dl>\s*((?:<dd>.*?</dd>\s*)+)</dl>", re.DOTALL)
"""The parameters of a long signature: Sphinx writes descriptions of nothing."""


def plain_rows(found):
    """Rows that say nothing of what they are."""
    rows = found[1].replace("<dd>", '<div class="row">').replace("</dd>", "</div>")
    return f'<div class="rows">{rows}</div>'


def visit_inline(translator, node):
    """A formula in a line."""
    write_formula(translator, node, formula_html(node.astext(), display=False))


def visit_block(translator, node):
    """A formula of its own."""
    write_formula(
        translator, node, formula_html(node.astext(), display=True, number=node.get("number") or "")
    )


def write_formula(translator, node, made):
    """Write the formula, and warn where it could not be read; a warning ends the build."""
    from docutils.nodes import SkipNode  # pyright: ignore[reportMissingModuleSource]
    from sphinx.util import logging  # pyright: ignore[reportMissingImports]

    if is_unread(made):
        logging.getLogger(__name__).warning(
            "a formula that cannot be read: %s", node.astext(), location=node
        )
    translator.body.append(made)
    raise SkipNode


def process_docstring(app, what, name, obj, options, lines):
    """In place, as Sphinx asks for it."""
    lines[:] = to_restructured_text(lines)


def shorten_signature(app, what, name, obj, options, signature, returned):
    """`ArrayLike` by its name, where Python has put the union that it stands for."""
    from numpy.typing import ArrayLike
    from sphinx.util.typing import stringify_annotation  # pyright: ignore[reportMissingImports]

    union = stringify_annotation(ArrayLike, "smart")
    return tuple(
        text.replace(union, "ArrayLike") if text else text for text in (signature, returned)
    )


def name_roles(app, pagename, templatename, context, doctree):
    """What WCAG asks for and the theme leaves out: levels of headings, a name for the pages at the left, and that what
    scrolls can be reached by keyboard."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )
    with speaking(app.config.language):
        context["sidebar_name"] = t("Pages")
    body = ROWS_OF_SIGNATURE.sub(plain_rows, context.get("body", ""))
    context["body"] = SCROLLING.sub(r'\g<0> tabindex="0"', reachable(body))
