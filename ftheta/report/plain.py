r"""LaTeX as readable Unicode, for the terminal: `$\|x\|_2^2\le\frac1n$` becomes ‖x‖₂² ≤ 1/n.

A formula is read into pieces, each with the kind that decides the space around it, as in TeX: `ord`inary,
`rel`ation, `bin`ary operator, `op`erator name, `big` operator, `open`ing, `close`ing, `punct`uation, `frac`tion,
`slash`, `space`.
"""

import re
from typing import NamedTuple

from .symbols import (
    ACCENTS,
    DROPPED,
    LETTERING,
    NAMES,
    NEGATED,
    SPACES,
    SYMBOLS,
    alphabet,
    to_subscript,
    to_superscript,
    with_index,
)

FORMULA = re.compile(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)
_WORDS = r"\\(?:text|textrm|textbf|textit|textsf|texttt|mbox|hbox)\s*\{([^{}]*)\}"
_TEXT = re.compile(_WORDS)
_TOKEN = re.compile(
    _WORDS.replace("([^{}]*)", "[^{}]*") + r"|\\[a-zA-Z]+|\\.|[{}^_&~]|\s+|.", re.DOTALL
)
_EMPHASIS = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_KEPT_SPACE = "\ue000"  # a space between words, which mathematics mode must not drop
_CHARACTERS = {
    **dict.fromkeys("=<>≤≥≈→:", "rel"),
    **dict.fromkeys("+-−±", "bin"),
    **dict.fromkeys("([", "open"),
    **dict.fromkeys(")]", "close"),
    **dict.fromkeys(",;", "punct"),
    "/": "slash",
}
_SINGLE = re.compile(r"^(\d[\d.]*|√?\w[\u0300-\u036f′]*[₀-ₜᵢⱼᵣᵤᵥᵦ-ᵪ⁰-ⁿ²³¹ᵀᵏ*]*)$")


class Piece(NamedTuple):
    text: str
    kind: str


def plain(text: str) -> str:
    """Text with `$…$` and `$$…$$` as Unicode; a displayed formula stands on a line of its own."""
    parts = []
    end = 0
    for found in FORMULA.finditer(text):
        parts.append(_plain_words(text[end : found.start()]))
        display, inline = found.groups()
        parts.append(f"\n    {formula(display)}\n" if display is not None else formula(inline))
        end = found.end()
    parts.append(_plain_words(text[end:]))
    lines = [line.rstrip() for line in "".join(parts).split("\n")]
    return "\n".join(
        line if line.startswith("    ") else line.strip() for line in lines if line.strip()
    )


def _plain_words(text: str) -> str:
    bare = text.replace("\\$", "$").replace("\\%", "%")
    return re.sub(r"\s+", " ", _EMPHASIS.sub(r"\1", bare))


def formula(latex: str) -> str:
    """One formula as Unicode. Never fails: what is not known is left as its name."""
    try:
        pieces = _Reader(_TOKEN.findall(latex)).read()
    except RecursionError:
        return latex
    return re.sub(r"[ \t]+", " ", _join(pieces).replace(_KEPT_SPACE, " ")).strip()


class _Reader:
    """Reads tokens from left to right; a method returns what it has consumed."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def read(self, until: str = "") -> list[Piece]:
        """The pieces up to the closing token, which is consumed."""
        pieces: list[Piece] = []
        while self.at < len(self.tokens):
            token = self._next()
            if token == until:
                break
            if token == "}":
                continue  # more braces closed than opened
            if token in "^_'" and token:
                self._attach(pieces, token)
            else:
                pieces.extend(self._piece(token))
        return pieces

    def _next(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def _attach(self, pieces: list[Piece], mark: str) -> None:
        base = pieces.pop() if pieces and pieces[-1].kind != "space" else Piece("", "ord")
        script = "′" if mark == "'" else self.tight()
        kind = base.kind if base.kind in ("op", "big", "close") else "ord"
        text = f"({base.text})" if base.kind == "frac" else base.text
        pieces.append(
            Piece(with_index(text, script) if mark == "_" else text + to_superscript(script), kind)
        )

    def argument(self) -> list[Piece]:
        """The next group, command with its arguments, or character."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        if self.at == len(self.tokens):
            return []
        token = self._next()
        return self.read("}") if token == "{" else self._piece(token)

    def tight(self) -> str:
        """The next argument without spaces, as it stands in scripts."""
        return _join(self.argument(), tight=True)

    def _piece(self, token: str) -> list[Piece]:
        if token == "{":
            return self._group(self.read("}"))
        if token.isspace():
            return []
        if token in "~&":
            return [Piece(" ", "space")]
        if words := _TEXT.fullmatch(token):
            return [Piece(re.sub(r"\s+|~", _KEPT_SPACE, words[1].replace("$", "")), "ord")]
        if not token.startswith("\\"):
            return [Piece("−" if token == "-" else token, _CHARACTERS.get(token, "ord"))]
        return self._command(token[1:])

    @staticmethod
    def _group(inner: list[Piece]) -> list[Piece]:
        return inner if len(inner) == 1 else [Piece(_join(inner), "ord")]

    def _command(self, name: str) -> list[Piece]:
        if name in SYMBOLS:
            return [Piece(*SYMBOLS[name])]
        if name in NAMES:
            return [Piece(name, "op")]
        if name in SPACES:
            return [Piece(SPACES[name], "space")] if SPACES[name] else []
        if name in DROPPED:
            return self._delimiter(name)
        if name == "\\":
            return [Piece("; ", "space")]
        return self._with_arguments(name)

    def _delimiter(self, name: str) -> list[Piece]:
        """`\\left.` draws nothing; the other delimiters stand for themselves."""
        if name in ("left", "right") and self.tokens[self.at : self.at + 1] == ["."]:
            self.at += 1
        return []

    def _with_arguments(self, name: str) -> list[Piece]:
        if name in ("frac", "tfrac", "dfrac", "cfrac"):
            return [Piece(_fraction(_join(self.argument()), _join(self.argument())), "frac")]
        if name in ("binom", "tbinom", "dbinom"):
            return [Piece(f"C({_join(self.argument())}, {_join(self.argument())})", "ord")]
        if name == "sqrt":
            return [Piece(self._root(), "ord")]
        if name in ("mathbb", "mathcal", "mathscr", "mathfrak"):
            return [Piece(alphabet(name, self.tight()), "ord")]
        if name in ACCENTS:
            return [Piece(_accent(self.tight(), ACCENTS[name]), "ord")]
        if name in LETTERING:
            return self._read_lettering(name)
        if name in ("overset", "stackrel", "underset"):
            script = self.tight()
            base = _join(self.argument())
            return [
                Piece(
                    base + (to_subscript if name == "underset" else to_superscript)(script),
                    "rel" if base in "=→∼" else "ord",
                )
            ]
        if name in ("xrightarrow", "xleftarrow"):
            label = self.tight()
            return [Piece(f"—{label}→" if name == "xrightarrow" else f"←{label}—", "rel")]
        if name == "not":
            denied = _join(self.argument())
            return [Piece(NEGATED.get(denied, denied + "\u0338"), "rel")]
        if name in ("phantom", "vphantom", "hphantom", "label", "tag", "color"):
            self.argument()
            return []
        if name == "begin":
            return self._environment()
        return [Piece(name, "ord")]

    def _root(self) -> str:
        degree = ""
        if self.tokens[self.at : self.at + 1] == ["["]:
            self.at += 1
            degree = to_superscript(_join(self.read("]"), tight=True))
        inner = _join(self.argument())
        return f"{degree}√{inner}" if _SINGLE.match(inner) else f"{degree}√({inner})"

    def _read_lettering(self, name: str) -> list[Piece]:
        if name == "operatorname" and self.tokens[self.at : self.at + 1] == ["*"]:
            self.at += 1
        text = _join(self.argument(), tight=name.startswith("math"))
        is_name = (
            name in ("operatorname", "mathrm", "mathop", "mathsf")
            and len(text) > 1
            and re.sub(r"\s", "", text).isalpha()
        )
        return [Piece(text, "op" if is_name else "ord")]

    def _environment(self) -> list[Piece]:
        name = self.tight()
        if name.rstrip("*") in ("array", "alignedat"):
            self.argument()  # the column specification
        rows: list[list[str]] = [[""]]
        pieces: list[Piece] = []
        while self.at < len(self.tokens):
            token = self._next()
            if token in ("&", "\\\\", "\\end"):
                rows[-1][-1] = _join(pieces).strip()
                pieces = []
                if token == "\\end":
                    self.argument()
                    break
                rows[-1].append("") if token == "&" else rows.append([""])
            elif token in ("^", "_", "'"):
                self._attach(pieces, token)
            elif token != "}":
                pieces.extend(self._piece(token))
        return [Piece(_lay_out(name, rows), "ord")]


def _lay_out(name: str, rows: list[list[str]]) -> str:
    """A matrix as [a, b; c, d], cases as { a, b; c, d, aligned rows one after the other."""
    if "matrix" in name or name == "array":
        return "[" + "; ".join(", ".join(row) for row in rows if any(row)) + "]"
    if name == "cases":
        return (
            "{ "
            + "; ".join(", ".join(cell.rstrip(",") for cell in row) for row in rows if any(row))
            + " }"
        )
    return "; ".join(" ".join(cell for cell in row if cell) for row in rows if any(row))


def _fraction(above: str, below: str) -> str:
    above = (
        f"({above})" if re.search(r"[ +/]|(?<=.)−", above) and not _is_bracketed(above) else above
    )
    return (
        f"{above}/{below}" if _SINGLE.match(below) or _is_bracketed(below) else f"{above}/({below})"
    )


def _is_bracketed(text: str) -> bool:
    """Whether one pair of brackets or bars holds the whole text."""
    pairs = {"(": ")", "‖": "‖", "|": "|"}
    return len(text) > 1 and pairs.get(text[0]) == text[-1] and not set(text[1:-1]) & set("()‖|")


def _accent(text: str, accent: str) -> str:
    if accent in ("\u0305", "\u0332"):
        return "".join(c + accent for c in text)
    return text[:1] + accent + text[1:]


def _join(pieces: list[Piece], *, tight: bool = False) -> str:
    """The pieces with the spaces between them that their kinds ask for; none if tight."""
    if tight:
        return "".join(p.text for p in pieces).replace(" ", "")
    text = ""
    previous = ""
    bars = 0
    for position, (sign, kind) in enumerate(pieces):
        if sign[:1] in ("‖", "|") and kind == "ord":
            kind = "close" if bars % 2 else "open"
            bars = bars + 1
        if kind == "bin" and (
            previous in ("", "rel", "bin", "open", "punct", "op") or position == len(pieces) - 1
        ):
            kind = "open"  # a sign, not an operation
        if kind in ("rel", "bin"):
            text += f" {sign} " if text else f"{sign} "
        else:
            apart = _needs_space(previous, kind) and sign[:1] not in (".", ")")
            text += (" " if apart else "") + sign + (" " if kind == "punct" else "")
        previous = kind if kind != "space" else previous
    return re.sub(r" +", " ", text).strip()


def _needs_space(left: str, right: str) -> bool:
    """Whether a thin space belongs between two neighbours."""
    if right in ("op", "big", "frac"):
        return left in ("ord", "close", "op", "big", "frac")
    return left in ("op", "big", "frac") and right in (
        ("ord",) if left == "op" else ("ord", "open")
    )
