"""The colours of values, and small PNG images of them: the picture inside a heatmap."""

from base64 import b64encode
from collections.abc import Sequence
from math import isfinite
from struct import pack
from zlib import compress, crc32

_VIRIDIS = bytes.fromhex(
    "440154470e61481a6c482575472f7d443a834144873d4e8a39568c35608d31688e2d708e2a788e27818e23888e21918d1f988b1fa088"
    "22a8842ab07f35b77943bf7154c56866cc5d7ad1518fd744a5db36bcdf27d2e21be9e51afde725"
)
_STOPS = [tuple(_VIRIDIS[i : i + 3]) for i in range(0, len(_VIRIDIS), 3)]
LEVELS = 254
# palette entries: the dark line between regions, and transparent
EDGE = 254
NOTHING = 255


def viridis(fraction: float) -> tuple[int, int, int]:
    """The colour at a place of the viridis scale."""
    place = min(max(fraction, 0.0), 1.0) * (len(_STOPS) - 1)
    i = min(int(place), len(_STOPS) - 2)
    r, g, b = (round(a + (z - a) * (place - i)) for a, z in zip(_STOPS[i], _STOPS[i + 1]))
    return r, g, b


def colour(fraction: float) -> str:
    """The same as a hexadecimal word."""
    return "#{:02x}{:02x}{:02x}".format(*viridis(fraction))


def level(value: float, lo: float, hi: float) -> int:
    """The palette entry of a value on the scale from `lo` to `hi`; nothing for one that is not finite."""
    if not isfinite(value):
        return NOTHING
    # halves, so that nothing overflows
    share = 0.5 if hi <= lo else (value / 2 - lo / 2) / (hi / 2 - lo / 2)
    return min(LEVELS - 1, max(0, int(share * LEVELS)))


def picture(rows: Sequence[bytes], colours: Sequence[tuple[int, int, int]] | None = None) -> str:
    """Rows of palette entries, the uppermost first, as a PNG in a data address; `colours` are those of the first
    entries, without them the levels of the viridis scale."""
    width = len(rows[0])
    height = len(rows)
    shades = [viridis(i / (LEVELS - 1)) for i in range(LEVELS)] if colours is None else colours
    palette = (
        b"".join(map(bytes, shades)).ljust(3 * LEVELS, b"\0")
        + bytes((15, 23, 42))
        + b"\xff\xff\xff"
    )
    header = pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    pixels = compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", palette),
        (b"tRNS", b"\xff" * 255 + b"\0"),
        (b"IDAT", pixels),
        (b"IEND", b""),
    )
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)
    return "data:image/png;base64," + b64encode(png).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", crc32(name + data))
