r"""The Lipschitz constant of a network, between a secant that is this steep and a bound that is proved.

    ft.lipschitz(net)                                    # over all of space, in the 2-norm
    ft.lipschitz(net, (lo, hi), norm="inf")              # on a box
    ft.lipschitz(net, ft.Ball(x, 0.1, norm=2), budget=20)

    domains.py      where it is asked for
    chains.py       a network as matrices with activations between them; `graphs.py` all others
    curves.py       slopes of activations; `local.py` their ranges on a set of inputs
    climbing.py     where a network is steep; `secants.py` the secant there, in rationals
    products.py, jacobians.py, sequential.py, sectors.py    bounds; `rungs.py` which of them apply
    splitting.py    local constants by parts; `enumerating.py` exactly, by all pieces
    result.py       what is returned

Every upper bound is rounded outward, every lower one is a pair of inputs. Work is counted rather than timed.
"""

from collections.abc import Callable
from math import inf
from time import process_time
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.networks.activations import activation
from ftheta.processes import interrupts
from ftheta.processes.budgets import parse_seconds

from ..input_regions import Region
from ..traced_programs import read_input_shape
from .chains import Chain, read_chain
from .climbing import MOST_INPUTS_FOR_NEIGHBOURS, Steep, find_steep
from .domains import Domain, read_domain, read_norm
from .result import LipschitzConstant as LipschitzConstant
from .result import Rung as Rung
from .rungs import climb_ladder, prepare_setting
from .secants import SteepestSecant, lay_secant, slope_between

BUDGET = 10.0
SHARES = {
    True: {"search": 0.5, "ladder": 0.35, "pieces": 0.1},
    False: {"search": 0.13, "ladder": 0.7, "pieces": 0.1},
}
LOCAL_SHARES = {"search": 0.15, "ladder": 0.15, "pieces": 0.2, "parts": 0.5}
"""Of the budget, over all of space (with few inputs, where steep pieces are tiny, and with many) and on a set: the
search for steep points, the bounds, all pieces, the parts."""
SECONDS_OF_A_PART = {1: 0.03, 2: 0.08, inf: 0.03}  # in each norm
INTERRUPTED = "interrupted: these are the bounds that were known by then"
ENOUGH = 1 + 1e-6  # a ratio at which nothing is left to be gained


def lipschitz(
    net: Any,
    domain: Region | None = None,
    norm: float | str = 2,
    budget: float | str = BUDGET,
    *,
    points: Any = None,
    seed: int = 0,
) -> LipschitzConstant:
    r"""An enclosure of $\mathrm{Lip}(f)=\sup_{x\ne y}\|f(x)-f(y)\|/\|x-y\|$ over a domain.

    Parameters
    ----------
    net
        A network (anything `ft.load` makes one of), a list of layers, or a JAX function of one array, which needs a
        domain.
    domain
        None for all of space; a box `(lo, hi)` (two arrays, or two numbers for every input), a `Ball` or a `Polytope`.
    norm
        Of inputs and outputs: 1, 2 or infinity (`"inf"`).
    budget
        Seconds of processor time, about, as counted work: the same budget gives the same answer on every machine, and a
        busy one takes longer. Ctrl-C ends it with the bounds that are known by then, a remark says so.
    points
        Rows to start the search for steep places from, such as data; none are needed.
    seed
        Of the search.
    """
    p = read_norm(norm)
    seconds = parse_seconds(budget)
    shape = read_input_shape(net)
    where = read_domain(domain, shape)
    if shape is None:
        if where.region is None:
            raise UsageError(
                "The inputs of a function have no known shape.",
                where="ft.lipschitz",
                got="a function without a domain",
                remedy="give a domain, or ft.Network.of(function, example)",
            )
        shape = where.region.hull.shape[1:]
    rows = _read_points(points, int(np.prod(shape)))
    chain = read_chain(net)
    if chain is None:
        from .beyond_chains import bound_network

        return bound_network(net, shape, where, p, seconds, rows, np.random.default_rng(seed))
    return _bound_chain(
        chain, getattr(net, "name", "network"), where, p, seconds, rows, np.random.default_rng(seed)
    )


def _read_points(points: Any, size: int) -> np.ndarray | None:
    if points is None:
        return None
    rows = np.asarray(points, np.float64)
    if rows.ndim < 2 or rows[0].size != size:
        raise UsageError(
            "Points are rows of inputs.",
            where="points",
            got=f"shape {rows.shape}",
            remedy=f"{size} entries per row",
        )
    if not np.isfinite(rows).all():
        raise UsageError(
            "There is a NaN or an infinity in the points.",
            where="points",
            remedy="leave such rows out",
        )
    return rows.reshape(len(rows), size)


def _bound_chain(
    chain: Chain,
    name: str,
    domain: Domain,
    norm: float,
    seconds: float,
    rows: np.ndarray | None,
    rng: np.random.Generator,
) -> LipschitzConstant:
    start = process_time()
    shares = SHARES[chain.inputs <= MOST_INPUTS_FOR_NEIGHBOURS] if domain.is_space else LOCAL_SHARES
    remarks = ()
    try:
        steep = find_steep(
            chain, norm, rng, work=shares["search"] * seconds, domain=domain, rows=rows
        )
        witness = lay_secant(chain, steep, norm, domain)
    except KeyboardInterrupt:
        interrupts.heed()
        remarks = (INTERRUPTED,)
        witness = None
    ladder: list[Rung] = []
    if witness is not None:
        ladder.append(
            _lower_rung(chain, witness, norm, process_time() - start, "steepest secant found")
        )
    program = None
    ranges = chain.global_ranges
    if domain.region is not None:
        from .local import local_ranges, prepare

        program = prepare(chain)
        (ranges,) = local_ranges(chain, program, domain.region, steps=10)
    unbounded = _say_where_unbounded(chain, ranges)
    if unbounded is not None:
        return LipschitzConstant(name, norm, domain.says, tuple(ladder), witness, (unbounded,))
    setting = prepare_setting(chain, ranges, norm, is_local=domain.region is not None)
    if remarks:
        ladder.append(next(climb_ladder(setting, 0.0)))  # the first bound is there at once
        return LipschitzConstant(name, norm, domain.says, tuple(ladder), witness, remarks)
    try:
        ladder.extend(climb_ladder(setting, shares["ladder"] * seconds))
        exact = _enumerate(chain, domain, norm, shares["pieces"] * seconds)
        ladder.extend(exact)
        best = min(rung.value for rung in ladder if rung.end == "upper")
        least = ladder[0].value if witness is not None else 0.0
        if program is not None and not exact and best > least * ENOUGH:
            more, better = _split(
                chain, program, domain, norm, LOCAL_SHARES["parts"] * seconds, least, best
            )
            ladder.extend(more)
            witness = better or witness
    except KeyboardInterrupt:
        interrupts.heed()
        remarks = (INTERRUPTED,)
    return LipschitzConstant(name, norm, domain.says, tuple(ladder), witness, remarks)


def _lower_rung(
    chain: Chain, witness: SteepestSecant, norm: float, seconds: float, method: str
) -> Rung:
    again: Callable[[], float] = lambda: slope_between(chain, witness.x, witness.y, norm).lo
    says = f"two inputs, evaluated in {witness.how}; {witness.tried:,} points tried"
    return Rung(
        method, "lower", witness.slope.lo, seconds, says, {"x": witness.x, "y": witness.y}, again
    )


def _say_where_unbounded(chain: Chain, ranges: Any) -> str | None:
    for k, (low, high) in enumerate(ranges):
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            word = chain.words[k]
            why = (
                "is not Lipschitz over all of space"
                if np.isinf(activation(word).lipschitz.hi)
                else "is unbounded"
            )
            return f"no bound: the activation `{word}` of layer {k + 1} {why}; remedy: give a bounded domain"
    return None


def _enumerate(chain: Chain, domain: Domain, norm: float, seconds: float) -> list[Rung]:
    from .enumerating import enumerate_pieces

    start = process_time()
    found = enumerate_pieces(chain, domain, norm, seconds)
    if found is None:
        return []
    constant, count = found
    says = f"the affine maps of all {count:,} pieces, in rationals"
    spent = process_time() - start
    return [
        Rung("all pieces", "upper", constant.hi, spent, says),
        Rung("all pieces", "lower", constant.lo, spent, says),
    ]


def _split(
    chain: Chain,
    program: Any,
    domain: Domain,
    norm: float,
    seconds: float,
    least: float,
    best: float,
) -> tuple[list[Rung], SteepestSecant | None]:
    """The domain by parts; and the secant at the steepest input met on the way."""
    from .splitting import Splitter

    assert domain.region is not None
    start = process_time()
    most = int(np.clip(seconds / SECONDS_OF_A_PART[norm], 0, 4096))
    if most < 3 or chain.scaling is not None:
        return [], None
    splitter = Splitter(chain, program, domain.region, norm)
    cover = splitter.cover(least, most)
    found = []
    if cover.bound < best:
        kind = "halves of the box" if splitter.is_halved else "signs of neurons"
        how = "the semidefinite program" if norm == 2 else "bounds of the Jacobian"
        says = f"{how} on {cover.bounded:,} parts by {kind}"
        found.append(
            Rung("parts of the domain", "upper", cover.bound, process_time() - start, says)
        )
    steep: Steep = splitter.steepest
    if steep.slope <= least:
        return found, None
    witness = lay_secant(chain, steep, norm, domain)
    if witness is None or witness.slope.lo <= least:
        return found, None
    return [
        *found,
        _lower_rung(chain, witness, norm, process_time() - start, "steepest secant in a part"),
    ], witness
