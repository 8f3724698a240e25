"""Rays on which the outputs of a network with one hidden layer do not fall to zero."""

from dataclasses import dataclass

from ftheta.relu.geometry import Form
from ftheta.relu.network import ExactNetwork

from .ridge_form import Ray, RidgeForm, escaping_ray, follow_ray, ridge_forms


@dataclass(frozen=True)
class Decay:
    """What the outputs of a network do far out: their ridge forms (of one hidden layer) and rays that tell."""

    net: ExactNetwork
    forms: tuple[RidgeForm, ...]
    rays: tuple[Ray | None, ...]

    @classmethod
    def of(cls, net: ExactNetwork) -> "Decay":
        forms = ridge_forms(net)
        return cls(net, forms, tuple(escaping_ray(f) for f in forms))

    @property
    def hyperplanes(self) -> list[Form]:
        return list(dict.fromkeys(form for f in self.forms for form in f.ridges))

    @property
    def summary(self) -> str:
        planes = len(self.hyperplanes)
        far = "f ≡ 0"
        if self.first:
            far = f"|f| → {self.first[1].limit:g} on the ray {self.first[1]}"
        return f"{planes} hyperplanes survive{'' if planes else ': f is affine'}; {far}"

    @property
    def first(self) -> tuple[int, Ray] | None:
        """The first output that is not zero, and its ray."""
        return next(((k, ray) for k, ray in enumerate(self.rays) if ray), None)

    @property
    def escaping(self) -> list[tuple[int, Ray]]:
        """Every output that has a ray on which it does not tend to zero, with the ray."""
        return [(k, ray) for k, ray in enumerate(self.rays) if ray]

    def count_unconfirmed(self) -> int:
        """Rays whose level and slope far out the network itself, neuron by neuron, does not confirm."""
        return sum(follow_ray(self.net, ray, k) != ray for k, ray in self.escaping)

    @property
    def least_limit(self) -> float:
        """The least limit of |f| along the rays; 0 where there is none."""
        return min((ray.limit for _, ray in self.escaping), default=0.0)
