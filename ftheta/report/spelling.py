"""Text for terminals that do not speak Unicode: θ as theta, ² as ^2, ≤ as <=."""

import unicodedata

_SIGNS = {
    "✓": "ok", "✗": "x", "△": "!", "–": "-", "—": "-", "−": "-", "·": "-", "…": "...", "≤": "<=", "≥": ">=", "≠": "!=",
    "→": "->", "×": "x", "‖": "||", "∞": "inf", "√": "sqrt", "∑": "sum", "∏": "prod", "∫": "int", "∇": "grad",
    "±": "+-", "“": '"', "”": '"', "⟨": "<", "⟩": ">", "∂": "d", "≼": "<=", "≽": ">=", "≈": "~", "∘": "o", "ℓ": "l",
    "∈": "in",
}  # fmt: skip


def spell_out(text: str, encoding: str) -> str:
    """The text with every letter that the encoding lacks spelt out."""
    return "".join(
        letter if _is_encodable(letter, encoding) else _spell_letter(letter) for letter in text
    )


def _is_encodable(letter: str, encoding: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _spell_letter(letter: str) -> str:
    if letter in _SIGNS:
        return _SIGNS[letter]
    if "\u2800" <= letter <= "\u28ff":  # Braille: a dot where there are dots
        return " " if letter == "\u2800" else "*"
    name = unicodedata.name(letter, "")
    if "GREEK" in name and " LETTER " in name:
        return name.split(" LETTER ")[1].split(" ")[0].lower()
    folded = unicodedata.normalize("NFKD", letter)
    bare = "".join(c for c in folded if c.isascii())
    mark = (
        "^" if "SUPERSCRIPT" in name or "MODIFIER" in name else "_" if "SUBSCRIPT" in name else ""
    )
    return mark + bare if bare else "" if unicodedata.combining(letter) else "?"
