"""What all properties have in common that are decided by more than bounds of the outputs."""

from typing import TYPE_CHECKING

from ftheta.certify.questions import Box
from ftheta.certify.searches import Verification
from ftheta.logic.errors import UsageError

if TYPE_CHECKING:
    from ftheta.certify.programs.network import TracedNetwork
    from ftheta.relu.network import ReluNetwork


class Behaviour:
    """A property of a network on a box that is decided by more than bounds of its outputs."""

    box: Box

    def decide(
        self, net: "ReluNetwork | TracedNetwork", seconds: float, threads: int
    ) -> Verification:
        """The answer for one network, within so many seconds."""
        raise NotImplementedError

    def _require_fit(self, net: "ReluNetwork | TracedNetwork") -> None:
        if len(self.box.lo) != net.widths[0]:
            raise UsageError(
                "The box does not fit the network.",
                got=f"{len(self.box.lo)} inputs for a network of {net.widths[0]}",
                remedy="give as many ends as inputs",
            )
