"""Errors of the graph: each says what went wrong, where, what was got and what to do."""


class GraphError(Exception):
    """One form for every error: a sentence, then `where`, `got` and `do`, each on its own line."""

    def __init__(self, what: str, *, where: str = "", got: str = "", do: str = ""):
        self.what, self.where, self.got, self.do = what, where, got, do
        lines = [what] + [f"  {key}: {text}" for key, text in (("where", where), ("got", got), ("do", do)) if text]
        super().__init__("\n".join(lines))


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
