"""Errors of the graph, in the one form of the house: what went wrong, where, what was got and the remedy."""

from ftheta.logic.errors import SubjectError


class GraphError(SubjectError):
    """A program that cannot be traced or interpreted."""


class MalformedGraph(GraphError):
    """The graph breaks its own specification."""


class NoRule(GraphError):
    """A domain has no rule for a primitive (or not for this use of it)."""


class OutsideDomain(GraphError):
    """A real function is applied to an interval that reaches outside the set where it is defined."""


class GraphTooLarge(GraphError):
    """Unrolling would need more nodes than the budget allows."""


class UnknownTripCount(GraphError):
    """A `while` loop whose number of steps depends on the inputs."""


class NotTraceable(GraphError):
    """The function cannot be turned into a graph here."""
