"""LaTeX as MathML and as Unicode."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.catalogue import index
from ftheta.report.letters import letters
from ftheta.report.mathml import formulas, mathml, statement_html, words_html
from ftheta.report.plain import FORMULA, formula, plain

_TEXT = re.compile(r"\\(?:text|textrm|textbf|textit|mbox|hbox)\s*\{([^{}]*)\}")

TORTURE = {
    r"\|\theta_k-\theta^*\|^2\le\gamma^k\|\theta_0-\theta^*\|^2": "‖θₖ − θ*‖² ≤ γᵏ‖θ₀ − θ*‖²",
    r"\gamma^*=\big(\frac{\kappa-1}{\kappa+1}\big)^2": "γ* = ((κ − 1)/(κ + 1))²",
    r"0<\tau\le\frac2{\mu+L}": "0 < τ ≤ 2/(μ + L)",
    r"R(\theta)=\mathbb E_{(X,Y)\sim\mathcal D}\,\ell(g_\theta(X),Y)": "R(θ) = 𝔼_((X,Y)∼𝒟) ℓ(gθ(X), Y)",
    r"-\log p=\frac{nd}{2}\ln(2\pi\sigma^2)+\frac{1}{2\sigma^2}\sum\|Y_i-g_\theta(X_i)\|^2": (
        "−log p = nd/2 ln(2πσ²) + 1/(2σ²) ∑ ‖Yᵢ − gθ(Xᵢ)‖²"
    ),
    r"B_nf(x)=\sum f(\tfrac kn)\binom nkx^k(1-x)^{n-k}": "Bₙf(x) = ∑ f(k/n)C(n, k)xᵏ(1 − x)ⁿ⁻ᵏ",
    r"W:\mathbb R^{M\times M\times S}\to\mathbb R^{M\times M\times T}": "W : ℝ^(M×M×S) → ℝ^(M×M×T)",
    r"\begin{psmallmatrix}1&2\\3&4\end{psmallmatrix}\mapsto2.5\,\mathbf1\mathbf1^\top": "[1, 2; 3, 4] ↦ 2.5 11ᵀ",
    r"\mathbb E\|\mathrm{ReLU}(Wx)\|^2=\frac{ns^2}2\|x\|^2": "𝔼‖ReLU(Wx)‖² = ns²/2 ‖x‖²",
    r"\sqrt{\frac{8(d\ln\frac{2en}d+\ln\frac4\delta)}n}": "√((8(d ln 2en/d + ln 4/δ))/n)",
    r"\ell=\theta_2e^{\theta_1}\sqrt{\theta_1+\theta_2e^{\theta_1}}": "ℓ = θ₂e^θ₁√(θ₁ + θ₂e^θ₁)",
    r"E(f,\Sigma_n)=\inf\{\|f-f_\theta\|:\text{budget}\le n\}": "E(f, Σₙ) = inf{‖f − fθ‖ : budget ≤ n}",
    r"\mathrm{Lip}(f)\le\prod\|W_\ell\|\prod\mathrm{Lip}\sigma": "Lip(f) ≤ ∏ ‖W_ℓ‖ ∏ Lip σ",
    r"\hat{\mathcal D}_n=\frac1n\sum\delta_{(x_i,y_i)}": "𝒟̂ₙ = 1/n ∑ δ_((xᵢ,yᵢ))",
    r"\nabla_{\theta_j}\mathcal L=J_{\theta_j}^\top\nabla_{x^j}\mathcal L": "∇_θⱼℒ = J_θⱼᵀ∇_xʲℒ",
    r"\left(\sum_{i=1}^{n} x_i^2\right)^{1/2}": "(∑ᵢ₌₁ⁿ xᵢ²)^(1/2)",
    r"\sigma=\varrho*\psi": "σ = ϱ*ψ",
    r"A\preceq B,\quad\text{with equality at }0": "A ≼ B, with equality at 0",
    r"p/N\text{ fixed}": "p/N fixed",
    r"x_{\text{one-hot code}}\text{ of }\tfrac12.": "x_(one-hot code) of 1/2.",
    r"f(x)=\begin{cases}x&x>0\\0&\text{otherwise}\end{cases}": "f(x) = { x, x > 0; 0, otherwise }",
    r"x\not\in K,\ \operatorname*{arg\,min}_\theta R_n": "x ∉ K, arg min_θ Rₙ",
}


@pytest.mark.parametrize("latex", TORTURE)
def test_a_formula_reads_well_in_the_terminal(latex: str) -> None:
    assert formula(latex) == TORTURE[latex]


@pytest.mark.parametrize("latex", TORTURE)
def test_a_formula_becomes_mathml(latex: str) -> None:
    for display in (False, True):
        made = mathml(latex, display=display)
        assert made.startswith("<math") and made.endswith("</math>")
        assert ('display="block"' in made) == display


def test_text_and_formulas_alternate() -> None:
    text = r"If $F$ is convex & smooth, then $$a\le b$$ and `step<1`, costs 5\$."
    html = statement_html(text)
    assert "convex &amp; smooth" in html
    assert '<math display="block">' in html
    assert "<code>step&lt;1</code>" in html
    assert html.endswith("costs 5$.")
    assert plain(text).splitlines() == [
        "If F is convex & smooth, then",
        "    a ≤ b",
        "and `step<1`, costs 5$.",
    ]


def test_a_formula_that_cannot_be_read_is_shown_as_it_stands() -> None:
    assert statement_html(r"$\unknown{<b>}$") == r'<code class="unread">\unknown{&lt;b&gt;}</code>'
    assert statement_html("$a<b&c$").startswith('<code class="unread">a&lt;b&amp;c')


def test_markup_in_statements_is_escaped() -> None:
    html = statement_html(r"<script>alert(1)</script> $\text{<script>}$ `<script>`")
    assert "<script" not in html and html.count("&lt;script") == 3


def test_the_displayed_formulas_of_a_statement_come_first() -> None:
    assert formulas(r"for $x$: $$x\le y.$$") == (r"x\le y.",)
    assert formulas(r"for $x$ and $y$") == ("x", "y")
    assert formulas("nothing") == ()


@given(st.text(alphabet="\\{}^_&$ab12θ ()frac", max_size=60))
def test_no_text_makes_the_readers_fail(text: str) -> None:
    assert isinstance(plain(text), str)
    assert "<script" not in statement_html(text)


def test_deep_nesting_is_given_back_as_it_is() -> None:
    latex = "{" * 5000 + "x" + "}" * 5000
    assert formula(latex)


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("θ_k", "θₖ"),
        ("‖θ_k − θ*‖²", "‖θₖ − θ*‖²"),
        ("λ_min", "λₘᵢₙ"),
        ("θ7 = θ4 · θ6", "θ₇ = θ₄ · θ₆"),
        ("σ2.5", "σ2.5"),
        ("x^2 + y^n", "x² + yⁿ"),
        ("mnist_mlp.onnx", "mnist_mlp.onnx"),
        ("W_L", "W_L"),
        ("f_θ(x) against f_w", "fθ(x) against f_w"),
        ("**If** it converges", "If it converges"),
        (r"bound $\gamma^k$", "bound γᵏ"),
        ("red\x1b[31m\u202etxet", "red[31mtxet"),
    ],
)
def test_labels_are_written_with_their_own_letters(label: str, written: str) -> None:
    assert letters(label) == written


def test_nothing_of_latex_is_left() -> None:
    for latex in TORTURE:
        assert not re.search(r"\\|\$", formula(latex))


def _catalogue_texts() -> list[str]:
    fields = ("title", "gist", "statement", "errata")
    texts = [entry[field] for entry in index().values() for field in fields]
    return texts + [
        words
        for entry in index().values()
        for a in entry["assumes"]
        for words in (a["says"], a["remedy"])
    ]


def test_the_words_of_the_catalogue_keep_their_boundaries():
    for text in _catalogue_texts():
        shown = " ".join(plain(text).split())
        inside = [words for match in FORMULA.finditer(text) for words in _TEXT.findall(match[0])]
        for words in inside:  # a single word may be an index, written with letters of its own
            assert " " not in words or re.sub(r"\s+", " ", words).rstrip(",") in shown, (
                words,
                shown,
            )
        outside = FORMULA.sub("\n$\n", text).replace("**", "").replace("\\%", "%").split("\n$\n")
        for words in outside:
            assert " ".join(words.split()) in shown, (words, shown)


def test_no_markup_is_left_in_the_terminal():
    for text in _catalogue_texts():
        assert not re.search(r"\*\*|\$|\\[a-zA-Z']", re.sub("`[^`]*`", "", plain(text))), plain(
            text
        )


def test_no_formula_of_the_catalogue_has_an_inline_style():
    """The lab's pages forbid them."""
    assert not [text for text in _catalogue_texts() if ' style="' in words_html(text)]
    assert ' class="left"' in words_html(r"$\begin{cases}1&x>0\\0&x\le0\end{cases}$")
