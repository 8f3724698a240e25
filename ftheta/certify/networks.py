"""Networks as questions about them are decided: by their ReLU normal form, or as traced programs."""

from typing import TYPE_CHECKING, Any, TypeAlias

from ftheta.relu.network import ReluNetwork

if TYPE_CHECKING:
    from .programs.network import TracedNetwork

    AnyNetwork: TypeAlias = ReluNetwork | TracedNetwork


def normal_form_or_program(net: Any) -> "AnyNetwork":
    """The normal form of a network; where it has none, or none without rounding, its program."""
    from ftheta.pieces.normal_forms import network_of, normal_form

    if not hasattr(net, "apply") or not hasattr(net, "example"):
        return network_of(net)
    form = normal_form(net)
    if form.network is not None and not form.refusal and not form.network.rounded:
        return form.network
    from .programs.network import TracedNetwork

    return TracedNetwork(net, form.refusal or form.meaning)
