"""What the commands share: options, output, exit codes."""

import json
from collections.abc import Callable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ftheta.logic import Verdict

if TYPE_CHECKING:
    from ftheta.logic import Result

Json = Annotated[bool, Parameter(negative="", help="Print JSON on standard output.")]
Flag = Parameter(negative="")


def options_of(command: Callable[..., int]) -> list[str]:
    """The names of the options of a command, without those of a theorem."""
    parameters = signature(command).parameters.values()
    return [part.name.replace("_", "-") for part in parameters if part.kind is part.KEYWORD_ONLY]


def exit_code(results: "Sequence[Result]", strict: bool) -> int:
    """1 if anything is refuted; 3, if asked for, when a theorem is not applicable."""
    verdicts = {r.verdict for r in results}
    if Verdict.REFUTED in verdicts:
        return 1
    return 3 if strict and Verdict.INAPPLICABLE in verdicts else 0


def console() -> Any:
    """Standard output with style."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=1))


def read_box_for(net: Any, words: str) -> tuple[list[float], list[float]]:
    """A box in words, for the inputs of a network."""
    from ftheta.approximation.words import box_of

    return box_of(words, net.widths[0])
