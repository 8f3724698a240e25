"""LaTeX commands and the characters that stand for them, by the space that TeX would leave around them."""

_GREEK = (
    "alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ "
    "mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega "
    "ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω"
)
_PLAIN = (
    "infty ∞ nabla ∇ partial ∂ ell ℓ hbar ℏ Re ℜ Im ℑ aleph ℵ emptyset ∅ varnothing ∅ forall ∀ exists ∃ nexists ∄ "
    "neg ¬ lnot ¬ top ⊤ bot ⊥ angle ∠ prime ′ star ⋆ ast * dagger † sharp ♯ flat ♭ ldots … dots … cdots ⋯ vdots ⋮ "
    "ddots ⋱ dotsc … dotsb ⋯ imath ı jmath ȷ square □ Box □ blacksquare ■ triangle △ checkmark ✓ S § degree ° | ‖ "
    "Vert ‖ vert | backslash \\ % % $ $ # # _ _"
)
_RELATIONS = (
    "le ≤ leq ≤ leqslant ≤ ge ≥ geq ≥ geqslant ≥ ne ≠ neq ≠ ll ≪ gg ≫ lesssim ≲ gtrsim ≳ approx ≈ simeq ≃ cong ≅ "
    "equiv ≡ sim ∼ propto ∝ asymp ≍ doteq ≐ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ subsetneq ⊊ "
    "prec ≺ succ ≻ preceq ≼ succeq ≽ mid | parallel ∥ perp ⟂ to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ "
    "mapsto ↦ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⇒ impliedby ⇐ iff ⇔ longrightarrow ⟶ longmapsto ⟼ "
    "Longrightarrow ⟹ hookrightarrow ↪ uparrow ↑ downarrow ↓ rightharpoonup ⇀ rightsquigarrow ⇝ triangleq ≜ "
    "coloneqq ≔ vdash ⊢ models ⊨ trianglelefteq ⊴ colon :"
)
_BINARIES = (
    "cdot · times × div ÷ pm ± mp ∓ circ ∘ odot ⊙ otimes ⊗ oplus ⊕ ominus ⊖ cup ∪ cap ∩ setminus ∖ wedge ∧ vee ∨ "
    "land ∧ lor ∨ bullet • amalg ⨿ rtimes ⋊ ltimes ⋉ bmod mod sqcup ⊔ sqcap ⊓"
)
_OPERATORS = (
    "sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigvee ⋁ bigwedge ⋀ "
    "bigsqcup ⨆"
)
_OPENING = "{ { langle ⟨ lfloor ⌊ lceil ⌈ lbrace { lbrack [ lvert | lVert ‖ llbracket ⟦"
_CLOSING = "} } rangle ⟩ rfloor ⌋ rceil ⌉ rbrace } rbrack ] rvert | rVert ‖ rrbracket ⟧"
_NAMES = (
    "arccos arcsin arctan arg argmax argmin artanh cos cosh cot coth Cov csc deg det diag dim erf exp gcd hom inf "
    "ker lg lim liminf limsup Lip ln log max min mod Pr rank sec sgn sign sin sinh softmax span sup tan tanh tr "
    "trace Var"
)
_DROPPED = (
    "allowbreak bf Big big Bigg bigg Biggl biggl Biggr biggr Bigl bigl Bigm bigm Bigr bigr cal displaystyle hfill "
    "it left limits mathstrut middle nolimits nonumber notag relax right rm scriptstyle strut textstyle"
)
_LETTERING = (
    "bm boldsymbol boxed emph ensuremath hbox mathbf mathbin mathclose mathit mathnormal mathop mathopen mathord "
    "mathrel mathrm mathsf mathtt mbox operatorname overbrace smash substack text textbf textit textrm textsf "
    "texttt underbrace"
)


def _words(text: str) -> list[str]:
    return text.split()


def _pairs(text: str) -> dict[str, str]:
    words = _words(text)
    return dict(zip(words[::2], words[1::2]))


NAMES, DROPPED, LETTERING = (frozenset(_words(text)) for text in (_NAMES, _DROPPED, _LETTERING))
SPACES = dict.fromkeys([*_words(", ; : > space enspace thinspace quad qquad"), " ", "\n"], " ") | {
    "!": ""
}
ACCENTS = {
    name: chr(code)
    for names, code in (
        ("hat widehat", 0x302),
        ("tilde widetilde", 0x303),
        ("bar", 0x304),
        ("overline", 0x305),
        ("breve", 0x306),
        ("dot", 0x307),
        ("ddot", 0x308),
        ("mathring", 0x30A),
        ("check", 0x30C),
        ("acute", 0x301),
        ("grave", 0x300),
        ("underline", 0x332),
        ("vec", 0x20D7),
    )
    for name in _words(names)
}
NEGATED = _pairs("= ≠ ∈ ∉ ≤ ≰ ≥ ≱ ⊂ ⊄ ⊆ ⊈ ≡ ≢ ∼ ≁ ≈ ≉ ∃ ∄ < ≮")

_DOUBLE = dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ"))
_SCRIPT = dict(zip("BEFHILMReog", "ℬℰℱℋℐℒℳℛℯℴℊ"))
_FRAKTUR = dict(zip("CHIRZ", "ℭℌℑℜℨ"))

_RAISED = dict(
    zip(
        "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ⊤*′⋆†",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡᵀ*′⋆†",
    )
)
_LOWERED = dict(
    zip("0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
)
_FUNCTIONS = frozenset("fghpFG")  # letters beside which θ can only be an index


def _table(kind: str, text: str) -> dict[str, tuple[str, str]]:
    return {name: (sign, kind) for name, sign in _pairs(text).items()}


SYMBOLS = (
    _table("ord", _GREEK)
    | _table("ord", _PLAIN)
    | _table("rel", _RELATIONS)
    | _table("bin", _BINARIES)
    | _table("big", _OPERATORS)
    | _table("open", _OPENING)
    | _table("close", _CLOSING)
)


def to_superscript(text: str) -> str:
    """A superscript: raised letters where all exist, `^(…)` otherwise."""
    return _script(text, _RAISED, "^")


def to_subscript(text: str) -> str:
    """A subscript: lowered letters where all exist, `_(…)` otherwise."""
    return _script(text, _LOWERED, "_")


def with_index(base: str, index: str) -> str:
    """The base with a subscript; `f_θ`, for which Unicode has no letter, is written fθ."""
    return base + index if base in _FUNCTIONS and index == "θ" else base + to_subscript(index)


def _script(text: str, table: dict[str, str], mark: str) -> str:
    if all(c in table for c in text):
        return "".join(table[c] for c in text)
    return f"{mark}{text}" if len(text) == 1 or text.isalnum() else f"{mark}({text})"


def alphabet(name: str, text: str) -> str:
    """The letters of `\\mathbb`, `\\mathcal` (also `\\mathscr`) and `\\mathfrak`."""
    special, capital, small = {
        "mathbb": (_DOUBLE, 0x1D538, 0x1D552),
        "mathcal": (_SCRIPT, 0x1D49C, 0x1D4B6),
        "mathscr": (_SCRIPT, 0x1D49C, 0x1D4B6),
        "mathfrak": (_FRAKTUR, 0x1D504, 0x1D51E),
    }[name]

    def letter(c: str) -> str:
        if c in special:
            return special[c]
        if "A" <= c <= "Z":
            return chr(capital + ord(c) - ord("A"))
        if "a" <= c <= "z":
            return chr(small + ord(c) - ord("a"))
        return "𝟙" if c == "1" and name == "mathbb" else c

    return "".join(letter(c) for c in text)


# -- back to LaTeX ----------------------------------------------------------------------------------

SCRIPTS = {
    sign: ("^", letter) for letter, sign in _RAISED.items() if ord(sign) > 127 and letter != "−"
} | {sign: ("_", letter) for letter, sign in _LOWERED.items() if letter != "−"}
"""Raised and lowered letters: on which side they stand, and the letter itself."""

COMMANDS = {
    sign: rf"\{name}" for name, (sign, _) in reversed(SYMBOLS.items()) if ord(sign[0]) > 127
}
COMMANDS |= {sign: rf"\mathbb{{{letter}}}" for letter, sign in _DOUBLE.items()}
COMMANDS |= {sign: rf"\mathcal{{{letter}}}" for letter, sign in _SCRIPT.items() if letter.isupper()}
COMMANDS |= {
    alphabet("mathbb", letter): rf"\mathbb{{{letter}}}" for letter in "ABDEFGIJKLMOSTUVWXY1"
}
COMMANDS |= {
    alphabet("mathcal", letter): rf"\mathcal{{{letter}}}" for letter in "ACDGJKNOPQSTUVWXYZ"
}
COMMANDS |= {
    "−": "-",
    "√": r"\surd ",
    "½": r"\frac{1}{2}",
    "¼": r"\frac{1}{4}",
    "∥": r"\|",
    "ᵀ": r"^{\top}",
}
"""The LaTeX of the letters and signs that stand for mathematics."""

ACCENT_COMMANDS = {sign: rf"\{name}" for name, sign in reversed(ACCENTS.items())}
"""The LaTeX of combining accents."""
