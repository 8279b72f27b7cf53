"""Names to solvers: bundled entries, third parties' entry points, files given by path, policy strings.

An entry is a file in ``solvers/`` that says what it needs and claims in literals, so that listing
imports no engine. The registry knows no concrete class.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from migopt.errors import (
    InfeasiblePartitionError,
    InputError,
    MigoptError,
    MissingExtraError,
    NotApplicableError,
    UnknownNameError,
    nearest_hint,
)
from migopt.model import Instance
from migopt.results import Budget, Live, Outcome, Solver, SolveResult, StopReason

ENTRY_POINT_GROUP = "migopt.solvers"
CLAIMS = ("exact", "bound", "heuristic", "learned", "published")


@dataclass(frozen=True)
class Entry:
    """A named solver file, as far as it can be known without running it.

    Attributes
    ----------
    name : str
        Stem of the file; the name everywhere.
    path : Path
    claims : str
        ``exact``, ``bound``, ``heuristic``, ``learned``, or ``published`` (a figure for comparison
        that is never counted as a bound).
    requires : tuple of str
        Distributions it needs.
    parameters : Mapping
        Name to (default, limits).
    summary : str
        First line of its docstring.
    error : str
        Why it is broken; empty when it is well.
    """

    name: str
    path: Path
    claims: str = ""
    requires: tuple[str, ...] = ()
    parameters: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    summary: str = ""
    error: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Requirements that are not installed."""
        return tuple(item for item in self.requires if not _is_installed(item))

    def load(self) -> ModuleType:
        """Import the entry's file; raises InputError when it is broken, MissingExtraError when something is absent."""
        if self.error:
            raise InputError(self.error, source=str(self.path))
        if self.missing:
            extra = (
                "rl"
                if any(item.startswith(("torch", "gymnasium")) for item in self.missing)
                else "all"
            )
            raise MissingExtraError(", ".join(self.missing), extra, f"solver {self.name}")
        return _import_path(self.path)


def bundled_folder(name: str) -> Path:
    """Return a folder that ships with migopt (``solvers``, ``suites``, ``instances``), in a wheel or a checkout."""
    package = Path(__file__).resolve().parent
    in_wheel = package / "_bundled" / name
    if in_wheel.is_dir():
        return in_wheel
    root = package.parent.parent
    return root / "benchmarks" / name if name == "suites" else root / name


def entries() -> list[Entry]:
    """Return every entry, bundled and third parties', sorted by name; a broken one carries its error.

    Raises
    ------
    InputError
        Two entries have one name; both places are printed.
    """
    paths = sorted(bundled_folder("solvers").glob("[!_]*.py"))
    for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        spec = importlib.util.find_spec(point.value.partition(":")[0])
        if spec is not None and spec.origin:
            paths.append(Path(spec.origin))
    found: dict[str, Entry] = {}
    for path in paths:
        entry = read_entry(path)
        if entry.name in found:
            raise InputError(
                f"two solvers are called {entry.name}: {found[entry.name].path} and {path}"
            )
        found[entry.name] = entry
    return [found[name] for name in sorted(found)]


def read_entry(path: Path) -> Entry:
    """Read an entry's literals without importing it; problems end in ``error``."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        literals = {
            target.id: ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id in ("REQUIRES", "PARAMETERS", "CLAIMS")
        }
    except (OSError, SyntaxError, ValueError) as error:
        return Entry(path.stem, path, error=f"cannot be read: {error}")
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    problems = [f"{name}() is missing" for name in ("applies", "make") if name not in functions]
    if literals.get("CLAIMS") not in CLAIMS:
        problems.append(f"CLAIMS must be one of {', '.join(CLAIMS)}")
    doc = ast.get_docstring(tree) or ""
    if not doc:
        problems.append("the docstring is missing")
    return Entry(
        path.stem,
        path,
        literals.get("CLAIMS", ""),
        tuple(literals.get("REQUIRES", ())),
        literals.get("PARAMETERS", {}),
        doc.partition("\n")[0],
        "; ".join(problems),
    )


def resolve(spec: str) -> Solver:
    """Return the solver that ``spec`` names.

    Parameters
    ----------
    spec : str
        An entry (``cpsat``), an entry with parameters (``cpsat:workers=2``), a file
        (``my_solver.py``), or a policy (``edf_ss_restricted+static:3``).

    Raises
    ------
    UnknownNameError, InputError, MissingExtraError
    """
    if "+" in spec:
        from migopt.schedulers import parse_policy

        return PolicySolver(parse_policy(spec))
    name, _, text = spec.partition(":")
    entry = find_entry(name)
    module = entry.load()
    return EntrySolver(entry, module, _parameters(entry, text))


def validate(spec: str) -> Entry | None:
    """Check a spec as far as it can be without running a solver's file.

    Returns
    -------
    Entry or None
        The entry that the spec names; None for a policy.

    Raises
    ------
    UnknownNameError, InputError
        An unknown name, a bad parameter, or a broken entry. A missing package is no error here.
    """
    if "+" in spec:
        from migopt.schedulers import parse_policy

        parse_policy(spec)
        return None
    name, _, text = spec.partition(":")
    entry = find_entry(name)
    if entry.error:
        raise InputError(entry.error, source=str(entry.path))
    _parameters(entry, text)
    return entry


def find_entry(name: str) -> Entry:
    """Return the entry called ``name``, or read the file of that path; raises UnknownNameError."""
    if name.endswith(".py"):
        if not Path(name).is_file():
            raise InputError(f"there is no solver file {name}")
        return read_entry(Path(name))
    known = {entry.name: entry for entry in entries()}
    if name not in known:
        raise UnknownNameError("solver", name, known)
    return known[name]


@dataclass(frozen=True)
class EntrySolver:
    """An entry with its parameters; asks ``applies`` before it builds anything."""

    entry: Entry
    module: ModuleType
    parameters: Mapping[str, Any]
    tell: Callable[[Live], None] | None = None

    def listening(self, tell: Callable[[Live], None]) -> EntrySolver:
        """Return the entry with ``tell`` called now and then, where its solver reports."""
        return replace(self, tell=tell)

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Solve, or say why the entry does not apply."""
        reason = self.module.applies(instance)
        if reason is not None:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=reason)
        solver = self.module.make(**self.parameters)
        if self.tell is not None and hasattr(solver, "listening"):
            solver = solver.listening(self.tell)
        result: SolveResult = solver.solve(instance, budget)
        return result


@dataclass(frozen=True)
class PolicySolver:
    """A policy as a solver: it has a schedule and proves nothing."""

    policy: Any
    engine: str = "auto"

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Simulate the policy with the budget's seed; simulation ends by itself, so its time is not limited."""
        start = time.perf_counter()
        try:
            schedule = self.policy.run(instance, seed=budget.seed, engine=self.engine)
        except InfeasiblePartitionError as error:
            return SolveResult(
                Outcome.INFEASIBLE_PARTITION, StopReason.FINISHED, message=str(error)
            )
        except NotApplicableError as error:
            return SolveResult(Outcome.NOT_APPLICABLE, StopReason.FINISHED, message=str(error))
        except MigoptError:
            raise
        except Exception as error:
            from migopt.schedulers.policy import rule_failure

            raise rule_failure(self.policy.text, error) from error
        wall = time.perf_counter() - start
        return SolveResult(
            Outcome.FEASIBLE, StopReason.FINISHED, schedule, wall_s=wall, engine="migopt simulator"
        )


def _parameters(entry: Entry, text: str) -> dict[str, Any]:
    values = {name: default for name, (default, _) in entry.parameters.items()}
    for item in filter(None, text.split(",")):
        name, equals, raw = item.partition("=")
        if name not in values or not equals:
            raise InputError(f"{entry.name}: no parameter {item!r}{nearest_hint(name, values)}")
        values[name] = _parameter(entry, name, raw)
    return values


def _parameter(entry: Entry, name: str, raw: str) -> Any:
    """Read one value: limits are (least, most) of numbers, a tuple of allowed words, or None for any."""
    default, limits = entry.parameters[name]
    try:
        value = ast.literal_eval(raw)
    except (SyntaxError, ValueError):
        value = raw
    is_range = (
        isinstance(limits, (tuple, list))
        and len(limits) == 2
        and all(isinstance(x, (int, float)) for x in limits)
    )
    if is_range:
        if (
            not isinstance(value, (int, float))
            or isinstance(value, bool)
            or not limits[0] <= value <= limits[1]
        ):
            raise InputError(
                f"{entry.name}: {name} must be a number from {limits[0]} to {limits[1]}, not {raw}"
            )
    elif isinstance(limits, (tuple, list)):
        if value not in limits:
            raise InputError(
                f"{entry.name}: {name} must be one of {', '.join(map(str, limits))}, not {raw}"
            )
    elif isinstance(default, str):
        return raw
    elif default is not None and not isinstance(value, type(default)):
        raise InputError(
            f"{entry.name}: {name} must be of type {type(default).__name__}, not {raw}"
        )
    return value


@cache
def _is_installed(requirement: str) -> bool:
    name = requirement
    for mark in "<>=!~ [;":
        name = name.partition(mark)[0]
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@cache
def _import_path(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"migopt_entry_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(
            f"cannot be loaded: {type(error).__name__}: {error}", source=str(path)
        ) from error
    return module
