"""One theorem a file, one folder a chapter, in the order of the chapters below."""

CHAPTERS = (
    "risk",
    "perceptrons",
    "universality",
    "piecewise",
    "optimisation",
    "gradients",
    "equivariance",
    "depth",
    "width",
    "attention",
    "architectures",
    "generalisation",
    "robustness",
    "generative",
)
