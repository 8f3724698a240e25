"""What holds for autoencoders: the error beside that of the best linear one, PCA of the same dimension."""

import numpy as np

from ftheta.estimates.paired import sign_flip_test
from ftheta.flows.chains import residual_chain
from ftheta.graph import GraphError
from ftheta.logic import AuditFinding, Axis, Curves, Enclosure, Fact, Heatmap, Series, SubjectError
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge
from ..part import Part
from .evaluation import Evaluation, evaluate_data, flatten, refuse_infinite
from .inputs import name_other_kind
from .pictures import draw_rows

SHOWN = 10
MOST_COLUMNS = 4096
LEVEL = 0.05
FITTED = 10_000  # rows of training that PCA is fitted to
LEAST = 10  # rows, one half of which PCA is fitted to


def best_linear_code(net: Network, rng: np.random.Generator) -> Part:
    """The reconstruction error beside that of PCA with as many directions as the narrowest layer has units."""
    found = _evaluate_reconstruction(net, rng)
    width = _bottleneck(net)
    x = flatten(found.x)
    fitted_on, tested, source = _part_rows(net, x, rng)
    centre = fitted_on.mean(0)
    directions = np.linalg.svd(fitted_on - centre, full_matrices=False)[2]
    linear = centre + (x - centre) @ directions[:width].T @ directions[:width]
    own = ((found.outputs - x) ** 2).sum(1)
    rival = ((linear - x) ** 2).sum(1)[tested]
    spread = float(((x - x.mean(0)) ** 2).sum(1).mean())
    p = sign_flip_test(rival - own[tested], rng)
    n = len(tested)
    facts = (
        Fact("latent dimension (narrowest layer)", Enclosure.exact(width), "", "latent_dimension"),
        Fact(
            "reconstruction error",
            found.know(float(own.mean())),
            f"mean square, {found.told}",
            "reconstruction",
        ),
        Fact(
            f"error of PCA with {width} directions",
            Enclosure.measured(float(rival.mean()), samples=n),
            f"{n:,} rows, fitted to {len(fitted_on):,} {source}",
            "pca_error",
        ),
        Fact(
            "share of the variance that is kept",
            found.know(1 - float(own.mean()) / spread),
            found.told,
        ),
        Fact(
            "p-value, network against PCA",
            Enclosure.measured(p, samples=n),
            f"sign-flip test, {n:,} rows",
        ),
    )
    charts = _pictures(net, found, x, linear, directions, width)
    return Part(facts, charts=charts, findings=_compare(own[tested], rival, width, p))


def _part_rows(
    net: Network, x: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, str]:
    """The rows that PCA is fitted to, the numbers of those that it is tested on, and where the first come from.

    Without rows of training it is one half and the other: on the rows that it is fitted to PCA is the best linear code
    of all, also where they are noise.
    """
    if net.train_data is not None:
        few = rng.permutation(len(net.train_data))[:FITTED]
        return flatten(net.train_data.x[few]), np.arange(len(x)), "rows of training"
    if len(x) < LEAST:
        raise SubjectError(
            f"This needs at least {LEAST} rows.", got=f"{len(x)}", remedy="give more rows"
        )
    tested, others = np.array_split(rng.permutation(len(x)), 2)
    return x[others], np.sort(tested), "other rows"


def _evaluate_reconstruction(net: Network, rng: np.random.Generator) -> Evaluation:
    if takes_tokens(net) or int(np.prod(net.output_shape)) != int(np.prod(net.input_shape)):
        raise name_other_kind()
    found = evaluate_data(net, rng)
    x = flatten(found.x)
    if found.labels is not None and not np.array_equal(found.labels, x):
        raise name_other_kind()
    refuse_infinite(found)
    if x.shape[1] > MOST_COLUMNS:
        raise SubjectError(
            "The inputs are too large for PCA.",
            got=f"{x.shape[1]:,} columns",
            remedy="smaller inputs",
        )
    return found


def _bottleneck(net: Network) -> int:
    """The units of the narrowest layer through which everything passes."""
    if net.description is not None:
        return min(net.description.widths)
    try:
        chain = residual_chain(net.apply, net.params, net.input_shape)
    except GraphError as error:
        raise SubjectError(
            "The layers cannot be told.", got=str(error).splitlines()[0], remedy="none"
        ) from error
    return min(part.start.size for stage in chain.stages for part in stage.parts)


def _compare(own: np.ndarray, rival: np.ndarray, width: int, p: float) -> tuple[AuditFinding, ...]:
    n = len(own)
    ratio = float(own.mean() / max(rival.mean(), 1e-300))
    value = Enclosure.measured(ratio, samples=n)
    basis = f"measured, {n:,} rows, sign-flip test, p = {p:.2g}"
    errors = f"reconstruction error {own.mean():.4g} against {rival.mean():.4g}"
    if ratio > 1 and p < LEVEL:
        says = f"PCA with {width} directions reconstructs better than this autoencoder: {errors}."
    elif p < LEVEL:
        says = f"It beats the best linear autoencoder, PCA with {width} directions: {errors}."
    else:
        says = f"No better than PCA with {width} directions: {errors}."
    behind = ratio - 1 if p < LEVEL else 0.0
    return judge("behind-pca", value, says, basis, judged_by=behind)


def _pictures(
    net: Network,
    found: Evaluation,
    x: np.ndarray,
    linear: np.ndarray,
    directions: np.ndarray,
    width: int,
) -> tuple[Curves | Heatmap, ...]:
    """Errors of PCA by dimension with this network beside, and some rows with both reconstructions."""
    centre = x.mean(0)
    kept = ((x - centre) @ directions.T) ** 2
    errors = np.maximum(((x - centre) ** 2).sum(1).mean() - np.cumsum(kept.mean(0)), 0.0)
    most = min(len(errors), 4 * width)
    own = float(((found.outputs - x) ** 2).sum(1).mean())
    curve = Series("PCA", np.arange(1, most + 1), errors[:most])
    here = Series("this network", [width], [own], mark="points")
    title = "reconstruction error by latent dimension"
    shape = net.input_shape
    lines = tuple(part[:SHOWN].reshape(-1, *shape) for part in (x, found.outputs, linear))
    return (
        Curves(title, Axis("directions"), Axis("mean squared error"), (curve, here)),
        *draw_rows("rows, this network, PCA", shape, lines),
    )
