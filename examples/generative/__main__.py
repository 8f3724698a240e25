"""Five small generative models, each trained by `ft.fit` in less than a minute of processor time.

A coupling flow, flow matching and a WGAN with a certified critic learn eight bumps in the plane; a denoising score
network and a variational autoencoder learn the 8 × 8 digits. Each loss is drawn above the least that it can have,
samples are shown, and copies of training rows are counted. Run from the project's root:

    python -m examples.generative --out generative.html
"""

import argparse
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

import ftheta as ft
from ftheta.logic.chart import Chart, Heatmap
from ftheta.report.render import figure

from .digits import train_score, train_vae
from .models import Model, eight_bumps
from .plane import train_coupling, train_matching, train_wgan

TRAINERS = {
    "coupling": train_coupling,
    "matching": train_matching,
    "wgan": train_wgan,
    "score": train_score,
    "vae": train_vae,
}


def draw_basins() -> Chart:
    """Balls in which the exact denoiser of forty rows is proved to return one of them."""
    rows = eight_bumps().sample(np.random.default_rng(5), 40)
    return ft.check(
        "memorise-and-speciate", ft.Dataset("40 rows of eight bumps", rows), noise=0.02
    ).charts[0]


def draw(chart: Chart) -> str:
    """Pictures of digits are wide."""
    return figure(chart, width=640, height=210 if isinstance(chart, Heatmap) else 320)


def write_page(models: Sequence[Model], path: Path) -> None:
    """One self-contained page."""
    style = "body{font:15px sans-serif;margin:24px;max-width:1320px}section{display:flex;gap:16px;flex-wrap:wrap}"
    parts = [
        f"<!doctype html><meta charset=utf-8><title>Generative models</title><style>{style}</style>"
    ]
    for model in models:
        charts = "".join(draw(chart) for chart in (model.draw_loss(), *model.pictures))
        told = f"{model.says}. Trained in {model.seconds:.0f} s of processor time."
        parts.append(
            f"<h2>{escape(model.name)}</h2><p>{escape(told)}</p><section>{charts}</section>"
        )
    parts.append(f"<h2>Proved basins</h2><section>{draw(draw_basins())}</section>")
    path.write_text("\n".join(parts), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=list(TRAINERS), default=list(TRAINERS))
    parser.add_argument("--out", type=Path, help="write a page with the pictures")
    options = parser.parse_args()
    models = []
    for name in options.only:
        models.append(TRAINERS[name]())
        print(f"{models[-1].name}: {models[-1].says} ({models[-1].seconds:.0f} s)", flush=True)
    if options.out is not None:
        write_page(models, options.out)


if __name__ == "__main__":
    main()
