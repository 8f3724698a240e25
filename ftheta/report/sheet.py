"""A theorem of the index as a sheet for the terminal: what `ftheta show` prints."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ftheta.languages import t
from ftheta.logic.knob import Knob

from .letters import letters
from .numbers import number
from .plain import plain
from .terminal import FAINT, Card, Columns, Styled, hanging_indent, heading, indent, line
from .words import source

if TYPE_CHECKING:
    from rich.console import RenderableType


def sheet(entry: Mapping[str, Any]) -> Card:
    """Gist, statement, hypotheses, knobs, presets, sources, and errata in the sources."""
    return Card(_parts(entry))


def _parts(entry: Mapping[str, Any]) -> Iterator["RenderableType"]:
    yield line(
        (t(entry["title"]), "bold"), f"  {entry['id']}", (f" · {t(entry['chapter_title'])}", FAINT)
    )
    if entry["gist"]:
        yield indent(line((letters(t(entry["gist"])), "italic")), below=1)
    yield indent(line(plain(entry["statement"])), below=1)
    if entry["assumes"]:
        yield heading(t("Hypotheses"))
        for asked in (*entry["assumes"], *entry["adapters"]):
            remedy: Styled = (
                (f"\n{t('to meet it:')} {letters(asked['remedy'])}", FAINT)
                if asked["remedy"]
                else ""
            )
            kind: Styled = (
                (f"{t('of a {kind}:', kind=asked['takes'])} ", FAINT) if "takes" in asked else ""
            )
            yield hanging_indent("·", FAINT, kind, letters(asked["says"]) or asked["name"], remedy)
        yield line("")
    if entry["knobs"]:
        yield heading(t("Options"))
        yield Columns(
            (t("option"), t("meaning"), t("range"), t("default")),
            [_knob(k) for k in entry["knobs"]],
            left=(0, 1, 2),
        )
        yield line("")
    if entry["presets"]:
        yield heading(t("Presets"))
        rows = [
            [f"--preset {_quote(name)}", _settings(knobs)]
            for name, knobs in entry["presets"].items()
        ]
        yield Columns(("", ""), rows, left=(0, 1))
        yield line("")
    if entry.get("lesson"):
        yield from _lesson(entry["id"], entry["lesson"])
    yield from _sources(entry)
    if entry["see_also"]:
        yield line((f"{t('see also:')} ", FAINT), ", ".join(entry["see_also"]))
    takes = f" {t('or')} ".join(entry["takes"])
    yield line(
        (f"{t('takes:')} ", FAINT),
        takes,
        (f"   {t('check:')} ", FAINT),
        f"ftheta check {entry['id']}",
    )


def _lesson(id: str, lesson: Mapping[str, Any]) -> Iterator["RenderableType"]:
    """Why one cares, the parts with what checks them, symbols, the idea of the proof, what to try, what breaks it."""
    yield heading(t("Why"))
    yield indent(line(_one_line(lesson["why"])), below=1)
    yield heading(t("Parts"))
    for k, part in enumerate(lesson["parts"]):
        checked = "; ".join(
            [
                *(t("claim “{words} …”", words=words) for words in part["claims"]),
                *map(_picture, part["charts"]),
            ]
        )
        shown: Styled = (f"\n{t('checked by')} {checked}", FAINT) if checked else ""
        yield hanging_indent(f"{chr(ord('a') + k)})", "", _one_line(part["says"]), shown)
    yield line("")
    yield heading(t("Symbols"))
    yield Columns(
        ("", ""), [[_one_line(s), _one_line(m)] for s, m in lesson["symbols"].items()], left=(0, 1)
    )
    yield line("")
    yield heading(t("Idea of the proof"))
    yield indent(line(_one_line(lesson["idea"])), below=1)
    yield heading(t("Try this"))
    for trial in lesson["trials"]:
        options = [f"--preset {_quote(trial['preset'])}"] if trial["preset"] else []
        options += [f"--{name.replace('_', '-')} {value}" for name, value in trial["knobs"].items()]
        command = " ".join(["ftheta check", id, *options])
        yield hanging_indent("·", FAINT, command, (f"\n{_one_line(trial['look'])}", FAINT))
    yield line("")
    yield heading(t("What breaks it"))
    yield indent(line(_one_line(lesson["breaks"])), below=1)
    yield heading(t("Where it leads"))
    yield Columns(
        ("", ""), [[other, _one_line(why)] for other, why in lesson["leads"].items()], left=(0, 1)
    )
    yield line("")


def _picture(title: str) -> str:
    return t("picture “{title}”", title=letters(title))


def _one_line(words: str) -> str:
    return " ".join(plain(words).split())


def _knob(setting: Mapping[str, Any]) -> list[Styled]:
    knob = setting["knob"]
    symbol = f"{knob['symbol']}: " if knob["symbol"] else ""
    least, most = Knob(lo=knob["lo"], hi=knob["hi"], least=knob["least"], most=knob["most"]).limits
    ends = f"{number(least)} … {number(most)}"
    if setting["type"] in ("bool", "str"):
        ends = ", ".join(knob["choices"]) or (
            "true, false" if setting["type"] == "bool" else t("text")
        )
    option = f"--{setting['name'].replace('_', '-')}"
    return [option, f"{symbol}{letters(knob['says'])}", (ends, FAINT), number(setting["default"])]


def _settings(knobs: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {number(value)}" for name, value in knobs.items()) or t(
        "the defaults"
    )


def _quote(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _sources(entry: Mapping[str, Any]) -> Iterator["RenderableType"]:
    if entry["sources"]:
        yield heading(t("Sources"))
        sources = entry["sources"]
        named = sources if isinstance(sources, Mapping) else {key: source(key) for key in sources}
        yield from (
            hanging_indent("", "", f"{key}  ", (words, FAINT)) for key, words in named.items()
        )
        yield line("")
    if entry["errata"]:
        yield heading(t("Errata in the sources"))
        yield indent(line(" ".join(plain(entry["errata"]).split())), below=1)
