"""When a number is a problem, a warning or a note: one table, with the reason for every limit and its source.

A rule compares one quantity with up to three limits. A value above `problem` is a problem, one above `warning` a
warning, one above `note` a note; what is above none of them is good, and is said where the rule has `praises`. Where
`below` is set, small values are bad and all this is turned round. The order of the table is the order of findings of
one severity: causes before their effects.

Sources are keys of `references.bib`, or "ours" where the limit is a choice of this project; argue with it here.
"""

from dataclasses import dataclass

from ftheta.catalogue.bibliography import references
from ftheta.logic import Severity

INVISIBLE = 1 / 255  # of the range of the inputs: one step of an 8-bit image
SMALL = 8 / 255  # of the range of the inputs: the usual radius on CIFAR-10 and ImageNet


@dataclass(frozen=True, slots=True)
class Rule:
    """The limits of one quantity that answers a `question`, why they are where they are, and what to do beyond."""

    id: str
    question: str
    quantity: str
    reason: str
    source: str
    problem: float | None = None
    warning: float | None = None
    note: float | None = None
    below: bool = False
    praises: bool = False
    remedy: str = ""
    theorem: str = ""

    def severity(self, value: float) -> Severity:
        """Of a value of the quantity."""
        limits = (
            (Severity.PROBLEM, self.problem),
            (Severity.WARNING, self.warning),
            (Severity.NOTE, self.note),
        )
        for severity, limit in limits:
            if limit is not None and (value < limit if self.below else value > limit):
                return severity
        return Severity.GOOD

    def describe(self, severity: Severity) -> str:
        """Why a value has this severity: the quantity, its limit, the reason and the source."""
        limit = {
            Severity.PROBLEM: self.problem,
            Severity.WARNING: self.warning,
            Severity.NOTE: self.note,
        }.get(severity)
        side = "below" if self.below else "above"
        crossed = "beyond no limit" if limit is None else f"{severity.value} {side} {limit:.3g}"
        source = "a choice of this project" if self.source == "ours" else references()[self.source]
        return f"{self.quantity}: {crossed}; {self.reason} ({source})"


RULES = (
    # -- nothing else means much while one of these holds --
    Rule(
        "unusable-network", "what", "networks that were given and cannot be used",
        "nothing that needs it has an answer; what is to be said of the data alone is said", "ours", problem=0.0,
        remedy="mend the network and audit again",
    ),
    Rule(
        "unusable-data", "data", "sets of data that were given and cannot be used",
        "what was asked about them has no answer; all that needs no data is answered", "ours", problem=0.0,
        remedy="mend the data and audit again",
    ),
    Rule(
        "raises", "what", "sets of rows on which the network raises an error",
        "it computes nothing on them", "ours", problem=0.0, remedy="call the network on these rows by hand",
        theorem="test-error",
    ),
    Rule(
        "not-finite", "what", "share of rows with an output that is not finite",
        "no prediction can be read off it", "ours", problem=0.0,
        remedy="find the operation that overflows; scale the inputs as in training",
    ),
    Rule(
        "agreement", "what", "difference to its framework beyond rounding, ÷ largest output; 1 if a prediction differs",
        "what is said here is about another function", "ours", problem=1e-3, warning=0.0, praises=True,
        remedy="please report it, with the file; until then believe the framework", theorem="agreement",
    ),
    Rule(
        "training-mode", "what", "layers in training mode that compute something else than in evaluation mode",
        "dropout makes predictions random, batch statistics make them depend on the other rows", "srivastava2014",
        problem=0.0, remedy="call `module.eval()` before the network is used or saved", theorem="evaluation-mode",
    ),
    Rule(
        "dead-layer", "capacity", "layers of which every unit is dead on the data",
        "behind such a layer the output does not depend on the input, and no gradient reaches what is before it",
        "lu2020", problem=0.0,
        remedy="initialise again with smaller steps or a warm-up; leaky ReLU or normalisation before the layer",
        theorem="active-units",
    ),
    Rule(
        "signal-growth", "training", "|log₁₀| of the root mean square of the last activation ÷ the first",
        "a factor at every layer: outputs and gradients grow or vanish exponentially in the depth", "he2015",
        problem=3.0, warning=2.0, remedy="initialise for the activation (He, Glorot) and train again, or normalise",
        theorem="active-units",
    ),
    Rule(
        "label-coding", "performance", "accuracy that a renaming of the classes would add",
        "a trained network that is worse than the most frequent class usually numbers its classes in another order",
        "ours", problem=0.2, warning=0.0, remedy="check which output belongs to which label", theorem="data-warnings",
    ),
    Rule(
        "shared-rows", "data", "share of rows that are also among the rows of training",
        "on rows it has seen a network shows what it remembers; the test error of new rows is larger", "kapoor2023",
        problem=0.01, warning=0.0, remedy="drop these rows from the test set and audit again", theorem="shared-rows",
    ),
    Rule(
        "label-errors", "data", "share of the surest rows whose label network and neighbours contradict, at 95 %",
        "test sets in use have 3.3 % wrong labels on average, enough to change which of two models looks better; rows "
        "near a boundary do not count, as classes may overlap there",
        "northcutt2021", problem=0.05, warning=0.02, note=0.005,
        remedy="look at the rows listed and correct their labels", theorem="label-errors",
    ),
    Rule(
        "conflicting-labels", "data", "share of rows with a twin that has another label",
        "no function of these inputs can be right on both; half of the share is lost to any classifier", "ours",
        problem=0.05, warning=0.0, remedy="decide on one label, or add the input that tells them apart",
        theorem="duplicates",
    ),
    Rule(
        "noise-floor", "data", "squared error that equal inputs with different labels cost, relative to the variance",
        "no function of these inputs can be better than that", "ours", warning=0.5, note=0.0,
        remedy="add the input that tells equal rows apart", theorem="duplicates",
    ),
    # -- how good --
    Rule(
        "behind-baseline", "performance", "points of accuracy by which a simple baseline is ahead, if p < 0.05",
        "a model that takes no training does better on the same rows", "ours", problem=0.05, warning=0.0,
        remedy="check preprocessing and labels, then training; or ship the baseline", theorem="baselines",
    ),
    Rule(
        "larger-error-than-baseline", "performance",
        "mean squared error beyond that of a simple baseline, relative to it, if p < 0.05",
        "a model that takes no training does better on the same rows", "ours", problem=0.25, warning=0.0,
        remedy="check the scaling of inputs and targets, then training; or ship the baseline", theorem="baselines",
    ),
    Rule(
        "uneven-coverage", "performance",
        "coverage of a 90 % interval in all less that in a third of the predictions, at least, at 95 %",
        "an interval that covers on average may fail where it is needed", "lei2018", warning=0.05, note=0.0,
        praises=True, remedy="scale the interval with the size of the errors there; see the residuals",
        theorem="residuals",
    ),
    Rule(
        "biased", "performance", "share of residuals of one sign − 1/2, if p < 0.01",
        "predictions that are off to one side can be shifted; beyond three quarters the shift is most of the error",
        "ours", warning=0.25, note=0.0, remedy="add the median residual to the predictions, or refit the last bias",
        theorem="residuals",
    ),
    Rule(
        "residual-trend", "performance", "rank correlation of residual and prediction, in size, if p < 0.01",
        "what can be told from the prediction is no noise: a line through the residuals would lower the error", "ours",
        warning=0.5, note=0.1, remedy="train longer, or refit a line on the predictions", theorem="residuals",
    ),
    Rule(
        "heteroscedastic", "performance",
        "largest ÷ smallest median error among thirds of the predictions, if p < 0.01",
        "one interval for all rows is too wide for some and too narrow for others", "breusch1979", warning=4.0,
        note=1.5, remedy="give intervals that depend on the input; model the variance, or the logarithm of the target",
        theorem="residuals",
    ),
    Rule(
        "miscalibration", "performance", "ECE beyond what a calibrated network has on so many rows, if p < 0.01",
        "confidences are read as probabilities by whatever comes after; below 2 points nobody sees it", "guo2017",
        problem=0.10, warning=0.03, note=0.01, praises=True,
        remedy="divide the logits by the temperature found below", theorem="calibration",
    ),
    Rule(
        "worst-class", "performance", "error of a class beyond the error of all, both at 95 %",
        "the accuracy hides a class that fares worse, beyond chance (corrected for the number of classes)", "ours",
        problem=0.2, warning=0.0, remedy="add rows of this class, or weigh them", theorem="test-error",
    ),
    Rule(
        "ahead-of-baselines", "performance", "p-value against the best simple baseline",
        "without a significant lead the simpler model would do", "mcnemar1947", note=0.05, praises=True,
        remedy="test on more rows, or use the baseline", theorem="baselines",
    ),
    # -- robustness --
    Rule(
        "invisible-changes", "robustness", "share of rows tried that change class within 1/255 of the range of inputs",
        "one step of an 8-bit image: rounding, not an adversary; of tables the narrowest column is the measure",
        "szegedy2014", problem=0.1, warning=0.03,
        remedy="train with noise or adversarial examples (`ft.fit(…, robust=…)`)",
        theorem="adversarial-and-certified-robustness",
    ),
    Rule(
        "small-changes", "robustness", "share of rows tried that change class within 8/255 of the range of inputs",
        "the radius at which defences are compared; networks trained without one lose nearly everything there",
        "croce2021", warning=0.3, note=0.03, praises=True,
        remedy="adversarial or IBP training (`ft.fit(…, robust=…)`), if somebody may want to fool it",
        theorem="adversarial-and-certified-robustness",
    ),
    # -- the data --
    Rule(
        "shift", "data", "p-value of one law for the data and the rows of training",
        "what was learnt there need not hold here; the test has its level exactly, and 1 % would warn of one healthy "
        "split in a hundred", "szekely2013", warning=0.002, note=0.01, below=True, praises=True,
        remedy="compare the columns that moved; draw both sets again at random",
        theorem="two-samples",
    ),
    Rule(
        "constant-columns", "data", "input columns that are constant",
        "nothing in the data says what their weights should be: a first other value is answered at random", "ours",
        warning=0.0, remedy="drop them, or document why they stay", theorem="columns",
    ),
    Rule(
        "column-scales", "data", "largest ÷ smallest standard deviation of a column, as the first layer gets them",
        "gradient descent is slowed by the condition number, which grows with the square of the ratio", "lecun2012",
        warning=1e3, note=1e2, remedy="standardise the columns", theorem="columns",
    ),
    Rule(
        "collinear-columns", "data", "columns that repeat another one (|correlation| = 1)",
        "their weights are not determined one by one; what is read off them is arbitrary", "ours", note=0.0,
        remedy="keep one of each", theorem="columns",
    ),
    Rule(
        "dependent-columns", "data", "columns that are linear combinations of others, beyond repeated ones",
        "their weights are not determined one by one; importances that are read off them are arbitrary", "ours",
        note=0.0, remedy="drop them, or read their weights together", theorem="columns",
    ),
    Rule(
        "far-rows", "data", "share of rows further from training than any row of training from the others",
        "there the network extrapolates: what was learnt near the rows of training says little", "ours", warning=0.05,
        note=0.005, remedy="look at the rows listed; reject such inputs, or collect more of their kind",
        theorem="far-rows",
    ),
    Rule(
        "outside-hull", "data",
        "share of rows outside the hull of training − share of its own rows outside that of the others, if p < 0.001",
        "between rows of training a network interpolates; many rows of any law are outside in many columns, so that "
        "rows of training are the measure", "balestriero2021", note=0.0,
        remedy="look at the rows listed; collect rows of training around them", theorem="hull-rows",
    ),
    Rule(
        "imbalance", "data", "rows of the largest class ÷ rows of the smallest",
        "accuracy is then mostly that of the large class", "he2009", warning=20.0, note=5.0,
        remedy="report the error per class; weigh or resample the small class", theorem="columns",
    ),
    Rule(
        "duplicates", "data", "share of rows that repeat another row",
        "repeated rows are no independent evidence: intervals are narrower than they should be", "ours", warning=0.05,
        note=0.0, remedy="keep one of each and audit again", theorem="duplicates",
    ),
    Rule(
        "data-warning", "data", "things worth knowing of how the data were read", "they change what every number means",
        "ours", note=0.0, remedy="look at the file of the data", theorem="data-warnings",
    ),
    # -- capacity and training --
    Rule(
        "dead-units", "capacity", "share of ReLUs that are dead on the data",
        "they cost time and memory and add nothing on these rows", "lu2020", problem=0.9, warning=0.1, note=0.0,
        praises=True, remedy="`ftheta simplify` removes those that are dead on a whole box, with a proof",
        theorem="active-units",
    ),
    Rule(
        "saturation", "training", "largest share of saturated values in a layer",
        "a saturated unit passes on less than 5 % of the gradient", "glorot2010", warning=0.5, note=0.2,
        remedy="smaller weights or normalised inputs before that layer", theorem="active-units",
    ),
    Rule(
        "learning-rate", "training", "learning rate ÷ largest stable step of gradient descent",
        "gradient descent with a step above 2/λmax leaves every minimum this sharp; training hovers at that edge",
        "cohen2021", warning=1.1, note=0.9, praises=True,
        remedy="a smaller learning rate, warm-up, or normalisation; momentum and Adam have limits of their own",
        theorem="curvature-of-the-loss",
    ),
    Rule(
        "gradient-balance", "training", "|log₁₀| of the gradient norm of the first matrix ÷ the last",
        "beyond a factor of 100 one end of the network learns while the other stands still", "glorot2010", warning=2.0,
        note=1.0, praises=True, remedy="initialise for the activation (He, Glorot), normalise, or add skip connections",
        theorem="gradients-by-layer",
    ),
    Rule(
        "duplicate-neurons", "capacity", "duplicate neurons, and neurons that are dead everywhere",
        "the same function has a smaller network", "ours", note=0.0,
        remedy="`ftheta simplify` on any box, or retrain with fewer neurons", theorem="canonical-form",
    ),
    Rule(
        "removable-neurons", "capacity", "neurons that can be left out without a change on the box of the data",
        "between the least and the largest entries of the data they are dead, linear, copies or unused", "ours",
        note=0.0, remedy="`ftheta simplify`", theorem="units-on-the-box",
    ),
    Rule(
        "rank-collapse", "capacity",
        "least effective rank of a layer ÷ the rank that the outputs can use (that of the rows, outputs − 1 at most)",
        "behind a layer of low rank the network sees fewer directions than its task has", "roy2007", note=0.25,
        below=True, remedy="widen or normalise that layer; check its initialisation", theorem="effective-rank",
    ),
    # -- generalisation, symmetry, far away, precision --
    Rule(
        "gap", "generalisation", "training accuracy − test accuracy, at least, at 95 %",
        "what was learnt of the rows of training and not of the task", "zhang2017", problem=0.2, warning=0.05, note=0.0,
        praises=True, remedy="more data, augmentation, or earlier stopping", theorem="train-test-gap",
    ),
    Rule(
        "memorised-rows", "generalisation", "share of rows of training that are right and without a like neighbour",
        "what only memory explains: rare cases, or wrong labels that were learnt", "feldman2020", warning=0.05,
        note=0.01, remedy="look at these rows: correct wrong labels, collect more of rare cases",
        theorem="memorised-rows",
    ),
    Rule(
        "precision", "what", "share of predictions that change in float32",
        "rows so close to a boundary that rounding decides", "ours", warning=0.01, note=0.0, praises=True,
        remedy="compute in float64, or accept that these rows are undecided", theorem="precision",
    ),
    Rule(
        "shifts", "symmetry", "share of predictions that change under a shift by one pixel",
        "a digit or an object stays what it is when it moves by a pixel", "azulay2019", note=0.1, praises=True,
        remedy="augment with shifts, or use convolutions and pooling", theorem="shifts",
    ),
    Rule(
        "far-away", "extrapolation", "share of rays on which the margin keeps growing",
        "ReLU networks become arbitrarily confident far from all data", "hein2019", note=0.5,
        remedy="reject inputs far from the data; confidence will not tell", theorem="extrapolation-ood",
    ),
    # -- of its kind --
    Rule(
        "behind-pca", "kind", "reconstruction error ÷ that of PCA with as many directions − 1, 0 if p ≥ 0.05",
        "PCA is the best linear autoencoder: a non-linear one that is no better is not worth its cost", "baldi1989",
        problem=0.5, warning=0.0, note=-0.01, praises=True, remedy="train longer, or use PCA",
        theorem="best-linear-code",
    ),
    Rule(
        "unstable-state", "kind", "logarithm of the growth of a change of the state per step",
        "gradients through time explode, and small changes of an early input decide",
        "pascanu2013", warning=0.5, note=0.2, remedy="clip gradients; initialise recurrent weights orthogonally",
        theorem="recurrent-state",
    ),
    Rule(
        "short-memory", "kind", "steps until 5 % of a change of the state is left ÷ steps of a sequence",
        "what came earlier hardly reaches the output", "pascanu2013", note=0.5, below=True, praises=True,
        remedy="larger forget-gate biases, orthogonal recurrent weights, or attention, if early inputs matter",
        theorem="recurrent-state",
    ),
    Rule(
        "receptive-field", "kind", "share of the input, along one axis, that a unit of the last convolution sees",
        "before it, nothing compares places that are further apart than that", "luo2016", note=0.5, below=True,
        praises=True, remedy="more layers, strides or dilation, unless the task is about texture",
        theorem="receptive-field",
    ),
    Rule(
        "idle-filters", "kind", "share of filters of the first convolution next to zero",
        "they cost time and pass nothing on", "ours", note=0.0, remedy="prune them, or train with less weight decay",
        theorem="receptive-field",
    ),
    Rule(
        "idle-blocks", "kind", "share of residual blocks that move their state by less than 1 %",
        "without them the network computes nearly the same", "veit2016", note=0.0, praises=True,
        remedy="try the network without them", theorem="residual-blocks",
    ),
    Rule(
        "idle-heads", "kind", "share of attention heads that average all tokens or repeat another head",
        "most heads of trained transformers can be removed at little loss; these first", "michel2019", note=0.25,
        praises=True, remedy="prune them, one at a time, and audit again", theorem="attention-heads",
    ),
    Rule(
        "token-clusters", "kind", "mean cosine of two tokens behind the last attention",
        "tokens that attention has made alike can no longer be told apart", "geshkovski2023", warning=0.99, note=0.95,
        remedy="fewer layers, residual connections, or attention of higher temperature", theorem="attention-heads",
    ),
    Rule(
        "refuted", "what", "theorems refuted on this network",
        "a theorem cannot be: this is a fault of ftheta", "ours", problem=0.0,
        remedy="please report it, with the report",
    ),
    # -- two networks --
    Rule(
        "became-worse", "performance", "points of accuracy lost against the network before, if p < 0.05",
        "more rows became wrong than chance explains", "mcnemar1947", problem=0.0,
        remedy="look at the rows that flipped", theorem="difference",
    ),
    Rule(
        "flips", "performance", "share of predictions that changed",
        "users notice answers that change, whichever is right", "yan2021", note=0.0, praises=True,
        remedy="look at the rows that flipped", theorem="difference",
    ),
)  # fmt: skip
BY_ID = {rule.id: rule for rule in RULES}
UNUSABLE = (
    "unusable-network",
    "unusable-data",
    "raises",
)  # rules of findings that say that there is no answer
ORDER = {rule.id: place for place, rule in enumerate(RULES)}
