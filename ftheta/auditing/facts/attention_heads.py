"""What holds for transformers: heads that average, look at themselves or repeat one another; tokens that cluster."""

from dataclasses import dataclass

import numpy as np

from ftheta.logic import AuditFinding, Axis, Curves, Enclosure, Fact, Heatmap, Series, Table
from ftheta.networks.transformers.heads import attention_in
from ftheta.spectra.ranks import effective_rank
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge
from ..part import Part
from .inputs import affordable, name_other_kind, some_rows

ROWS = 12
UNIFORM = 0.99  # of the largest entropy
DIAGONAL = 0.9  # mean weight of a token on itself
COPY = 0.02  # mean total variation between two heads
SHOWN = 60
MOST_TOKENS = 64  # in the picture of a head


@dataclass(frozen=True)
class _Head:
    """Of one head, over the rows: entropy ÷ the largest possible, weight on itself, and its matrix in the mean."""

    layer: int
    number: int
    spread: float
    own: float
    weights: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.layer}.{self.number}"


def attention_heads(net: Network, rng: np.random.Generator) -> Part:
    """Every head of every layer on some rows, and how far tokens are apart behind each layer."""
    attention = attention_in(net.apply, net.params, _example(net))
    if not attention.heads:
        raise name_other_kind()
    x, told = some_rows(net, affordable(net, 2e9, 2, ROWS), rng)
    x = x.astype(np.int64) if takes_tokens(net) else x
    seen = [attention.at(row) for row in x]
    heads = [head for layer in range(len(attention.heads)) for head in _measure_heads(layer, seen)]
    copies = _find_copies(seen, heads)
    uniform = [head.name for head in heads if head.spread >= UNIFORM]
    diagonal = [head.name for head in heads if head.own >= DIAGONAL]
    n = len(x)
    of_them = f"of {len(heads)}; {told}"
    facts = [
        Fact("attention heads", Enclosure.exact(len(heads)), f"in {len(attention.heads)} layers"),
        Fact(
            "heads that average all tokens",
            Enclosure.measured(len(uniform), samples=n),
            of_them,
            "uniform_heads",
        ),
        Fact(
            "heads that look at their own token",
            Enclosure.measured(len(diagonal), samples=n),
            of_them,
        ),
        Fact(
            "pairs of heads that are copies",
            Enclosure.measured(len(copies), samples=n),
            of_them,
            "copied_heads",
        ),
        *_token_facts(seen, told),
    ]
    findings = (*_judge_heads(heads, uniform, copies, n), *_judge_clusters(seen, n))
    charts = (*_head_picture(heads), *_cluster_picture(seen))
    return Part(tuple(facts), (_table(heads, uniform, diagonal),), charts, findings)


def _example(net: Network) -> object:
    import jax

    return jax.ShapeDtypeStruct(net.input_shape, np.int64) if takes_tokens(net) else net.example


def _measure_heads(layer: int, seen: list) -> list[_Head]:
    weights = np.mean([row[layer][0] for row in seen], axis=0)
    found = []
    for k in range(len(weights)):
        each = np.stack([row[layer][0][k] for row in seen])
        visible = np.maximum((each > 0).sum(-1), 2)
        entropy = -(each * np.log(np.maximum(each, 1e-300))).sum(-1) / np.log(visible)
        alone = (each > 0).sum(-1) < 2  # a first token that sees itself alone
        spread = float(entropy[~alone].mean()) if (~alone).any() else 0.0
        square = each.shape[1] == each.shape[2]
        own = (
            float(np.diagonal(each, axis1=1, axis2=2)[~alone].mean())
            if square and (~alone).any()
            else 0.0
        )
        found.append(_Head(layer + 1, k + 1, spread, own, weights[k]))
    return found


def _find_copies(seen: list, heads: list[_Head]) -> list[tuple[str, str]]:
    """Pairs of heads of one layer whose weights differ by little on every row: half of the ℓ₁ distance."""
    found = []
    for layer in sorted({head.layer for head in heads}):
        each = np.stack([row[layer - 1][0] for row in seen])  # row, head, query, key
        for i in range(each.shape[1]):
            for j in range(i + 1, each.shape[1]):
                if 0.5 * np.abs(each[:, i] - each[:, j]).sum(-1).mean() < COPY:
                    found.append((f"{layer}.{i + 1}", f"{layer}.{j + 1}"))
    return found


def _tokens(seen: list, layer: int) -> list[np.ndarray]:
    """What the layer hands to each token, of every row: the results of all heads beside one another."""
    return [row[layer][2].transpose(1, 0, 2).reshape(row[layer][2].shape[1], -1) for row in seen]


def _cosines(seen: list) -> list[float]:
    """The mean cosine between two tokens behind each layer."""
    found = []
    for layer in range(len(seen[0])):
        each = []
        for tokens in _tokens(seen, layer):
            unit = tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-300)
            n = len(unit)
            each.append(((unit @ unit.T).sum() - n) / max(n * (n - 1), 1))
        found.append(float(np.mean(each)))
    return found


def _ranks(seen: list) -> list[float]:
    layers = range(len(seen[0]))
    return [
        float(np.mean([effective_rank(t, centred=False) for t in _tokens(seen, k)])) for k in layers
    ]


def _token_facts(seen: list, told: str) -> list[Fact]:
    cosine = _cosines(seen)[-1]
    rank = _ranks(seen)[-1]
    n = len(seen)
    tokens = seen[0][-1][2].shape[1]
    return [
        Fact(
            "mean cosine of two tokens behind the last attention",
            Enclosure.measured(cosine, samples=n),
            told,
            "cosine",
        ),
        Fact(
            "effective rank of the tokens there",
            Enclosure.measured(rank, samples=n),
            f"{tokens} tokens; {told}",
        ),
    ]


def _judge_heads(
    heads: list[_Head], uniform: list[str], copies: list, n: int
) -> tuple[AuditFinding, ...]:
    spare = {*uniform, *(second for _, second in copies)}
    says = (
        f"{len(spare)} of {len(heads)} attention heads add little: {len(uniform)} average all tokens, "
        f"{len({second for _, second in copies})} repeat another head ({', '.join(sorted(spare)[:8])})."
    )
    if not spare:
        says = (
            f"None of the {len(heads)} attention heads averages all tokens or repeats another head."
        )
    return judge(
        "idle-heads",
        Enclosure.measured(len(spare), samples=n),
        says,
        judged_by=len(spare) / len(heads),
    )


def _judge_clusters(seen: list, n: int) -> tuple[AuditFinding, ...]:
    cosine = _cosines(seen)[-1]
    says = f"Tokens cluster: behind the last attention two of them have cosine {cosine:.3f} in the mean."
    return judge("token-clusters", Enclosure.measured(cosine, samples=n), says)


def _table(heads: list[_Head], uniform: list[str], diagonal: list[str]) -> Table:
    rows = []
    for head in heads[:SHOWN]:
        kinds = [
            word
            for word, names in (("uniform", uniform), ("diagonal", diagonal))
            if head.name in names
        ]
        rows.append((head.layer, head.number, head.spread, head.own, ", ".join(kinds) or "–"))
    columns = ("layer", "head", "entropy ÷ largest", "weight on itself", "kind")
    return Table("attention heads", columns, tuple(rows))


def _cluster_picture(seen: list) -> tuple[Curves, ...]:
    layers = np.arange(1, len(seen[0]) + 1)
    if len(layers) < 2:
        return ()
    cosine = Series("mean cosine of two tokens", layers, _cosines(seen))
    share = np.array(_ranks(seen)) / np.array([seen[0][k][2].shape[1] for k in range(len(layers))])
    rank = Series("effective rank ÷ tokens", layers, share)
    return (Curves("tokens behind each attention layer", Axis("layer"), Axis(), (cosine, rank)),)


def _head_picture(heads: list[_Head]) -> tuple[Heatmap, ...]:
    """The mean attention matrices of the heads, a line per layer."""
    rows = max(len(head.weights) for head in heads)
    if rows > MOST_TOKENS or len({head.weights.shape for head in heads}) > 1:
        return ()
    layers = sorted({head.layer for head in heads})[:8]
    lines = [
        [np.pad(head.weights, 1) for head in heads if head.layer == layer][:8] for layer in layers
    ]
    widest = max(map(len, lines))
    blank = np.zeros_like(lines[0][0])
    whole = np.concatenate(
        [np.concatenate(line + [blank] * (widest - len(line)), axis=1) for line in lines]
    )
    height, width = whole.shape
    title = "mean attention of every head, a line per layer"
    return (
        Heatmap(
            title,
            Axis("key"),
            Axis("query"),
            whole[::-1],
            (0.0, float(width), 0.0, float(height)),
            "weight",
        ),
    )
