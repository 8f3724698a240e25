"""`ftheta range`: the least and the greatest value of every output on a box."""

from typing import Annotated

from cyclopts import Parameter

from ftheta.processes import interrupts

from .common import Json, print_json, read_box_for


def range_(
    subject: str,
    *,
    box: str,
    minus: str | None = None,
    tolerance: float = 1e-3,
    budget: Annotated[str, Parameter(name=("--budget", "--seconds"))] = "10s",
    json: Json = False,
) -> int:
    """Enclose the least and the greatest value of every output on a box: proved of the box, and attained in it.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    box
        The same bounds for every input, such as --box=0,1, or one pair per input: --box="0,1;-1,1".
    minus
        A second network: the ranges of the difference of the two, and so their largest deviation.
    tolerance
        Stop where both ends are within this, times the larger of 1 and the numbers themselves.
    budget
        Stop after so long by the clock, with what is shown by then: 10s, 2m.
    """
    from ftheta.verifying.networks import read_network
    from ftheta.verifying.relations import range

    net = read_network(subject)
    found = range(net, read_box_for(net, box), minus=minus, tolerance=tolerance, budget=budget)
    code = interrupts.EXIT_CODE if found.interrupted else 0
    if json:
        names = ("lo", "least", "greatest", "hi")
        print_json(
            {name: getattr(found, name).tolist() for name in names} | {"is_tight": found.is_tight}
        )
        return code
    for j, (lo, least, greatest, hi) in enumerate(
        zip(found.lo, found.least, found.greatest, found.hi)
    ):
        print(
            f"output {j}: least between {lo:.9g} and {least:.9g}, greatest between {greatest:.9g} and {hi:.9g}"
        )
    return code
