"""How wide a text is in the vendored font, so that labels can be placed before they are drawn."""

from functools import cache, lru_cache
from pathlib import Path
from struct import unpack_from

FONTS = Path(__file__).parent.parent / "fonts"
_UNKNOWN = 0.64  # the width, in ems, of a letter that the font does not have


@lru_cache(8192)  # the same words are measured again at every move of a slider
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text in pixels."""
    widths = _advances("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")
    return size * sum(widths.get(ord(letter), _UNKNOWN) for letter in text)


def shorten(text: str, size: float, room: float, *, bold: bool = False) -> str:
    """The text, cut with an ellipsis where it does not fit."""
    if text_width(text, size, bold=bold) <= room:
        return text
    kept = text
    while kept and text_width(kept + "…", size, bold=bold) > room:
        kept = kept[: min(len(kept) - 1, max(1, int(room / size) * 4))]
    return kept.rstrip() + "…"


def wrap(text: str, size: float, room: float, *, bold: bool = False, most: int = 3) -> list[str]:
    """The text in at most so many lines that fit; the last is cut where they do not suffice."""
    lines: list[str] = []
    words = text[:2000].split()
    while words and len(lines) < most - 1:
        line = words.pop(0)
        while words and text_width(f"{line} {words[0]}", size, bold=bold) <= room:
            line += f" {words.pop(0)}"
        lines.append(shorten(line, size, room, bold=bold))
    return [*lines, shorten(" ".join(words), size, room, bold=bold)] if words else lines or [""]


@cache
def _advances(name: str) -> dict[int, float]:
    """Code point to advance width in ems, read from the TrueType tables `cmap` and `hmtx`."""
    font = (FONTS / name).read_bytes()
    count = unpack_from(">H", font, 4)[0]
    tables = {
        font[12 + 16 * i : 16 + 16 * i].decode(): unpack_from(">I", font, 20 + 16 * i)[0]
        for i in range(count)
    }
    em = unpack_from(">H", font, tables["head"] + 18)[0]
    metrics = unpack_from(">H", font, tables["hhea"] + 34)[0]
    glyphs = _glyphs(font, tables["cmap"])
    hmtx = tables["hmtx"]
    return {
        code: unpack_from(">H", font, hmtx + 4 * min(glyph, metrics - 1))[0] / em
        for code, glyph in glyphs.items()
    }


def _glyphs(font: bytes, cmap: int) -> dict[int, int]:
    """Code point to glyph number, from the subtables of format 4 and 12."""
    found: dict[int, int] = {}
    for i in range(unpack_from(">H", font, cmap + 2)[0]):
        start = cmap + unpack_from(">I", font, cmap + 8 + 8 * i)[0]
        layout = unpack_from(">H", font, start)[0]
        found |= (
            _format_12(font, start)
            if layout == 12
            else _format_4(font, start)
            if layout == 4
            else {}
        )
    return found


def _format_4(font: bytes, start: int) -> dict[int, int]:
    segments = unpack_from(">H", font, start + 6)[0] // 2
    ends = start + 14
    first = start + 16 + 2 * segments
    found: dict[int, int] = {}
    for i in range(segments):
        end = unpack_from(">H", font, ends + 2 * i)[0]
        begin = unpack_from(">H", font, first + 2 * i)[0]
        delta = unpack_from(">H", font, first + 2 * (segments + i))[0]
        at = first + 2 * (2 * segments + i)
        offset = unpack_from(">H", font, at)[0]
        for code in range(begin, min(end, 0xFFFE) + 1):
            glyph = unpack_from(">H", font, at + offset + 2 * (code - begin))[0] if offset else code
            found[code] = (glyph + delta) % 65536 if glyph or not offset else 0
    return found


def _format_12(font: bytes, start: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for i in range(unpack_from(">I", font, start + 12)[0]):
        begin, end, glyph = unpack_from(">III", font, start + 16 + 12 * i)
        found.update(zip(range(begin, end + 1), range(glyph, glyph + end - begin + 1)))
    return found
