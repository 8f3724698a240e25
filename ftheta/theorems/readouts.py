"""The claim that a network is affine in its last features, which several theorems about linear models make."""

from ftheta.kernels.features import Features
from ftheta.logic import Enclosure, Identity, Witness


def claim_affine_readout(found: Features) -> Identity:
    r"""$f=W\varphi+b$ on the rows; where it fails, the worst row is the witness, in intervals rounded outward."""
    relative = Enclosure.equal(found.gap / max(found.scale, 1e-300))
    witness = None
    if not found.affine:
        row, output, gap = found.enclose_largest_gap()
        how = "both rows in intervals rounded outward"
        witness = Witness(
            {"row": float(row), "output": float(output)}, gap, Enclosure.exact(0), how
        )
    return Identity(
        "f − Wφ − b on the rows, relative", relative, Enclosure.exact(0), witness, atol=1e-9
    )
