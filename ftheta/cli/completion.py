"""`ftheta completion`: the words of the command line, for a shell to complete."""

import inspect
from collections.abc import Callable
from typing import Any, Literal

from cyclopts import App

from ftheta.catalogue import index

Shell = Literal["bash", "zsh", "fish", "powershell"]


def completion(shell: Shell) -> int:
    """Print the completion script of a shell: commands, options, and the ids of the theorems.

    Parameters
    ----------
    shell
        bash, zsh, fish or powershell; in bash, `source <(ftheta completion bash)`.
    """
    from . import app  # which imports this module when the command is called

    print(_with_ids(app).generate_completion(shell=shell))
    return 0


def _with_ids(commands: App) -> App:
    """The same commands, with the ids of the theorems as the choices where a theorem is meant."""
    ids = Literal[tuple(index())]  # type: ignore[valid-type]
    completed = App(name=commands.name)
    for name in commands:
        command = commands[name].default_command
        if command is not None and not name.startswith("-"):
            completed.command(_choose(command, {"id": ids, "theorem": ids}), name=name)
    return completed


def _choose(command: Callable[..., Any], choices: dict[str, Any]) -> Callable[..., Any]:
    """A command of the same signature, but for the types of these positional arguments."""

    def same(*args: Any, **options: Any) -> None: ...

    signature = inspect.signature(command)
    parameters = [
        p.replace(annotation=choices[p.name])
        if p.name in choices and p.kind is p.POSITIONAL_OR_KEYWORD
        else p
        for p in signature.parameters.values()
    ]
    same.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    same.__annotations__ = {p.name: p.annotation for p in parameters}
    same.__doc__ = command.__doc__
    return same
