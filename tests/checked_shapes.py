"""Shapes in signatures of the cores, checked by beartype while tests run.

The first calls of a function in every test are checked, at night all of them: a loop that calls a function thousands of
times says nothing new after a few. jaxtyping's own import hook would wrap every function, also those inside of
functions and those that numba compiles. Here a module is executed as it is, and then its functions whose signatures
state a shape are wrapped.
"""

import dis
import inspect
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, get_args

import jaxtyping
from beartype import beartype

from ftheta.logic.errors import FthetaError

CORES = tuple(
    f"ftheta.{room}"
    for room in (
        "approximation",
        "certify",
        "datasets",
        "estimates",
        "flows",
        "graph",
        "groups",
        "kernels",
        "particles",
        "pieces",
        "relu",
        "risks",
        "spectra",
        "stability",
        "training",
    )
)


class _Checks:
    """Which calls are checked: of each function the first ones in a test."""

    def __init__(self) -> None:
        self.begin(everything=False)

    def begin(self, everything: bool) -> None:
        """A test begins; with `everything` all of its calls are checked."""
        self.most = float("inf") if everything else FIRST_CALLS
        self.seen: Counter[Any] = Counter()

    def are_due(self, function: Any) -> bool:
        """Whether this call of the function is to be checked."""
        self.seen[function] += 1
        return self.seen[function] <= self.most


FIRST_CALLS = 8
CHECKS = _Checks()


def install(packages: Sequence[str]) -> None:
    """From now on the modules of these packages are imported with checks."""
    loaded = [
        name
        for name in sys.modules
        if name.startswith(tuple(f"{package}." for package in packages))
    ]
    assert not loaded, f"imported without checks: {loaded}"
    sys.meta_path.insert(0, _Finder(tuple(packages)))


class _Finder(MetaPathFinder):
    def __init__(self, packages: tuple[str, ...]) -> None:
        self.packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ):
        if fullname not in self.packages and not fullname.startswith(
            tuple(f"{p}." for p in self.packages)
        ):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Executes a module as it is, then wraps what states shapes."""

    def __init__(self, plain: Loader) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)  # source, file name, resources

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.plain.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.plain.exec_module(module)
        wrap_functions(module)


def wrap_functions(module: ModuleType) -> None:
    """Wrap the functions, methods and data classes of a module that state shapes."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value) and states_shape(value):
            setattr(module, name, _wrap(value))
        elif inspect.isclass(value):
            _wrap_methods(value)
            if is_dataclass(value):
                _check_fields(value)


def _wrap_methods(owner: type) -> None:
    for name, value in list(vars(owner).items()):
        if name in (
            "__init__",
            "__new__",
        ):  # JAX puts other things than arrays into the places of a named tuple
            continue
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if isinstance(value, cached_property):
            if states_shape(value.func):
                value.func = _wrap(value.func)
        elif isinstance(value, property):
            if value.fget is not None and states_shape(value.fget):
                setattr(
                    owner, name, property(_wrap(value.fget), value.fset, value.fdel, value.__doc__)
                )
        elif inspect.isfunction(plain) and states_shape(plain):
            wrapped = _wrap(plain)
            setattr(owner, name, type(value)(wrapped) if plain is not value else wrapped)


def _check_fields(owner: type) -> None:
    """The fields of an object are checked when it is made: after its constructor has turned lists into arrays."""
    hints = {field.name: field.type for field in fields(owner) if _has_shape(field.type)}  # type: ignore[arg-type]
    if not hints:
        return

    def made(**values: Any) -> None:
        pass

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name in hints
    ]
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    made.__module__ = owner.__module__
    made.__qualname__ = owner.__qualname__
    check = jaxtyping.jaxtyped(made, typechecker=beartype)
    plain = owner.__init__

    @wraps(plain)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        if CHECKS.are_due(owner):
            check(**{name: getattr(self, name) for name in hints})

    owner.__init__ = init  # type: ignore[method-assign]


def _wrap(function: Any) -> Any:
    """The function with its arrays checked; everything else is left to it."""
    stated = inspect.signature(function)
    arrays = [
        p if _has_shape(p.annotation) else p.replace(annotation=Any)
        for p in stated.parameters.values()
    ]
    result = stated.return_annotation if _has_shape(stated.return_annotation) else Any
    # what is checked
    function.__signature__ = stated.replace(parameters=arrays, return_annotation=result)
    checked = jaxtyping.jaxtyped(function, typechecker=beartype)
    del function.__signature__, checked.__signature__
    refusal = f"Type-check error whilst checking the parameters of {function.__module__}.{function.__qualname__}."

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not CHECKS.are_due(function):
            return function(*args, **kwargs)
        try:
            return checked(*args, **kwargs)
        except jaxtyping.TypeCheckError as error:
            if str(error).startswith(refusal):
                _let_it_refuse(function, args, kwargs)
            raise

    return call


def _let_it_refuse(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What a user may hand in wrongly is refused by the function itself, in its own words: that is no mistake here."""
    try:
        function(*args, **kwargs)
    except FthetaError:
        raise
    except ValueError as error:
        if _is_raised_by_statement(error):
            raise
    except Exception:
        return


def _is_raised_by_statement(error: Exception) -> bool:
    """Whether a `raise` of Python raised it: NumPy, written in C, complains of shapes by a ValueError too."""
    place = error.__traceback__
    assert place is not None
    while place.tb_next is not None:
        place = place.tb_next
    steps = {step.offset: step.opname for step in dis.get_instructions(place.tb_frame.f_code)}
    return steps[place.tb_lasti] == "RAISE_VARARGS"


def states_shape(function: Any) -> bool:
    """Whether an argument or the result is an array of a stated shape."""
    return any(_has_shape(hint) for hint in getattr(function, "__annotations__", {}).values())


def _has_shape(hint: Any) -> bool:
    if inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    return any(_has_shape(part) for part in get_args(hint))
