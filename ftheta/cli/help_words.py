"""`--help` in the language that is spoken: cyclopts lays it out in English, and its words are looked up here."""

from collections.abc import Iterator
from typing import Any

from ftheta.languages import ENGLISH, language, later, t

# what cyclopts says itself
TITLES = (later("Commands"), later("Parameters"))
FLAGS = (later("Display this message and exit."), later("Display application version."))


def one_line(words: str) -> str:
    """The words without the line breaks of the source: the key of a catalogue."""
    return " ".join(words.split())


def paragraphs(docstring: str) -> Iterator[str]:
    """The paragraphs of a docstring above its parameters, as keys of a catalogue."""
    said = docstring.split("Parameters\n", 1)[0]
    yield from (one_line(part) for part in said.split("\n\n") if part.strip())


class TranslatedHelp:
    """The layout of cyclopts with every word looked up."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        if language() != ENGLISH:
            entries = [_entry(entry) for entry in panel.entries]
            panel = panel.copy(title=t(str(panel.title)), entries=entries)
        _layout()(console, options, panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        if language() == ENGLISH or not usage:
            return _layout().render_usage(console, options, usage)
        console.print(f"[bold]{t('Usage:')} {usage}", highlight=False)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        if language() != ENGLISH and description:
            from rich.markdown import Markdown

            said = "\n\n".join(map(t, paragraphs(_source(description))))
            description = Markdown(f"{said}\n")
        _layout().render_description(console, options, description)


def _layout() -> Any:
    from cyclopts.help import DefaultFormatter

    return DefaultFormatter()


def _entry(entry: Any) -> Any:
    """An option or a command with its words; what cyclopts would add in English stands behind them."""
    from cyclopts.help.inline_text import InlineText

    said = InlineText.from_format(t(one_line(_source(entry.description))), "markdown")
    for words, style in _facts(entry):
        said.append(_style(f"[{words}]", style))
    return entry.copy(description=said, choices=None, default=None, required=False)


def _facts(entry: Any) -> Iterator[tuple[str, str]]:
    if entry.choices:
        yield t("choices: {words}", words=", ".join(entry.choices)), "cyclopts.choices"
    if entry.default is not None:
        yield t("default: {value}", value=entry.default), "cyclopts.default"
    if entry.required:
        yield t("required"), "cyclopts.required"


def _style(words: str, style: str) -> Any:
    from rich.text import Text

    return Text(words, style)


def _source(rendered: Any) -> str:
    """The words that were rendered: of Markdown its source."""
    inner = getattr(rendered, "primary_renderable", rendered)
    return str(getattr(inner, "markup", inner))
