"""A policy is a dispatch rule and a partition rule, written ``dispatch+partition``.

Each rule is one file; its stem is its name, and ``make(argument)`` builds a fresh rule from the text
after the colon: ``edf_ss_restricted+static:3``, ``edf_fs+timetable:5:00=6,17:00=2``. A rule of
one's own is named by its file: ``my_rule.py+static:3``.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from migopt.errors import InputError, PolicyError, UnknownNameError
from migopt.metrics import Metrics
from migopt.model import Instance, Schedule
from migopt.schedulers.play import Engine, play, score
from migopt.sim import Dispatcher, Partitioner


@dataclass(frozen=True)
class Policy:
    """A dispatch rule and a partition rule by name, ready to run any number of times.

    Attributes
    ----------
    text : str
        The policy string.
    """

    text: str
    dispatch_module: ModuleType
    dispatch_argument: str
    partition_module: ModuleType
    partition_argument: str

    def dispatcher(self) -> Dispatcher:
        """Return a fresh dispatch rule."""
        rule: Dispatcher = self.dispatch_module.make(self.dispatch_argument)
        return rule

    def partitioner(self, instance: Instance, *, seed: int = 0) -> Partitioner:
        """Return a fresh partition rule; one that must see the whole instance first does so here."""
        rule: Any = self.partition_module.make(self.partition_argument)
        if hasattr(rule, "resolve"):
            rule = rule.resolve(instance, self.dispatcher, seed)
        fixed: Partitioner = rule
        return fixed

    def run(self, instance: Instance, *, seed: int = 0, engine: Engine = "auto") -> Schedule:
        """Simulate the policy; raises PolicyError or InfeasiblePartitionError as ``simulate`` does.

        ``engine``: ``auto``, ``compiled`` or ``reference``; the schedule is the same.
        """
        partitioner = self.partitioner(instance, seed=seed)
        return play(instance, self.dispatcher(), partitioner, seed=seed, engine=engine)

    def score(
        self, instance: Instance, *, seed: int = 0, engine: Engine = "auto", jobs: bool = True
    ) -> Metrics:
        """Simulate the policy for its figures alone; faster than to measure its schedule.

        Without ``jobs`` figures that need a look at every job may be left 0.
        """
        partitioner = self.partitioner(instance, seed=seed)
        return score(instance, self.dispatcher(), partitioner, seed=seed, engine=engine, jobs=jobs)


def rule_failure(policy: str, error: Exception) -> PolicyError:
    """Return what to raise where a rule's own code fails: policy, error, file and line, in one line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return PolicyError(f"{policy} failed: {type(error).__name__}: {error} ({where})")


@cache
def _rules(package: str) -> list[str]:
    path = importlib.import_module(package).__path__
    return sorted(info.name for info in pkgutil.iter_modules(path) if not info.name.startswith("_"))


def dispatch_rules() -> list[str]:
    """Return the names of all dispatch rules."""
    return _rules("migopt.schedulers.dispatch")


def partition_rules() -> list[str]:
    """Return the names of all partition rules."""
    return _rules("migopt.schedulers.partition")


def parse_policy(text: str) -> Policy:
    """Read ``dispatch+partition``; raises InputError (UnknownNameError with the nearest names).

    Parameters
    ----------
    text : str
        For example ``edf_ss_restricted+static:3``; a colon starts a rule's argument.
    """
    dispatch, plus, partition = text.partition("+")
    if not plus or not dispatch or not partition:
        raise InputError(
            f"{text!r} is no policy; write dispatch+partition, for example edf_ss_restricted+static:3"
        )
    dispatch_name, _, dispatch_argument = dispatch.partition(":")
    partition_name, _, partition_argument = partition.partition(":")
    policy = Policy(
        text,
        _module("migopt.schedulers.dispatch", "dispatch rule", dispatch_name, dispatch_rules()),
        dispatch_argument,
        _module("migopt.schedulers.partition", "partition rule", partition_name, partition_rules()),
        partition_argument,
    )
    policy.dispatch_module.make(dispatch_argument)
    policy.partition_module.make(partition_argument)
    return policy


def load_rule_file(path: Path) -> ModuleType:
    """Import a rule's file by path; raises InputError when it is absent, broken or has no ``make``."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InputError(f"there is no rule file {path}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(
            f"cannot be loaded: {type(error).__name__}: {error}", source=str(path)
        ) from error
    if not callable(getattr(module, "make", None)):
        raise InputError("has no function make(argument)", source=str(path))
    return module


def _module(package: str, what: str, name: str, known: list[str]) -> ModuleType:
    if name.endswith(".py"):
        return load_rule_file(Path(name))
    if name not in known:
        raise UnknownNameError(what, name, known)
    return importlib.import_module(f"{package}.{name}")
