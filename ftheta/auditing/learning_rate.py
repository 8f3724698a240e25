"""A learning rate held against the largest step at which gradient descent is stable: 2/λmax of the Hessian."""

from dataclasses import replace

from ftheta.logic import AuditFinding, Enclosure, UsageError

from .judging import judge
from .part import Part


def ensure_learning_rate(lr: float | None) -> None:
    """Raise unless it is a positive number, or none was given."""
    if lr is not None and not 0 < lr < float("inf"):
        raise UsageError("A learning rate is a positive number.", got=lr, where="lr")


def hold_against(part: Part, lr: float) -> Part:
    """The part with what its largest stable step says of a learning rate, if it has one."""
    known = [fact.value for fact in part.facts if fact.key == "stable_step"]
    limits = [value for value in known if isinstance(value, Enclosure) and value.hi > 0]
    found = tuple(finding for limit in limits for finding in _judge(lr, limit))
    return replace(part, findings=(*part.findings, *found))


def _judge(lr: float, limit: Enclosure) -> tuple[AuditFinding, ...]:
    # known as the limit is known
    ratio = replace(limit, lo=lr / limit.hi, hi=lr / limit.lo if limit.lo > 0 else float("inf"))
    times = f"{ratio.lo:.2g}" if ratio.hi < 1.1 * ratio.lo else f"at least {ratio.lo:.2g}"
    ends = f"{limit.lo:.3g} … {limit.hi:.3g}" if limit.lo > 0 else f"at most {limit.hi:.3g}"
    if ratio.lo > 1.1:
        where = "beyond the edge of stability"
    elif ratio.lo >= 0.9:
        where = "at the edge of stability"
    else:
        where = "below the edge of stability"
    says = f"The learning rate {lr:g} is {where}: {times} times the largest stable step, {ends}."
    means = "2/λmax of the loss at these parameters, for gradient descent without momentum."
    return judge("learning-rate", ratio, says, judged_by=ratio.lo, means=means)
