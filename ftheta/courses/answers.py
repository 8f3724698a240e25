"""Whether the answer of an exercise is what its run gives."""

from math import isclose

from ftheta.logic import Result

from .model import Exercise

RELATIVE = 1e-3  # numbers of an answer are written with three or four digits
ABSOLUTE = 1e-9


def differences(exercise: Exercise, result: Result) -> list[str]:
    """What the run gives and the file says otherwise, one sentence each; empty where they agree."""
    found = []
    if result.verdict != exercise.verdict:
        found.append(f"the verdict is {result.verdict.value}, stated: {exercise.verdict.value}")
    for name, stated in exercise.numbers.items():
        enclosure = result.numbers.get(name)
        if enclosure is None:
            found.append(
                f"there is no number “{name}”; there are {', '.join(result.numbers) or 'none'}"
            )
        elif not isclose(enclosure.middle, stated, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            found.append(f"{name} is {enclosure.middle:.6g}, stated: {stated:.6g}")
    return found
