"""What every rule, bound and solver must do, whoever wrote it.

``check_target`` takes a name or a file: a solver entry, a dispatch rule or a partition rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from migopt.api import Answer, solve
from migopt.errors import InputError, MigoptError, MissingExtraError
from migopt.model import Instance
from migopt.registry import PolicySolver, entries, find_entry, resolve
from migopt.results import Budget, Outcome
from migopt.schedulers import dispatch_rules, parse_policy, partition_rules
from migopt.schedulers.policy import load_rule_file
from migopt.testing.cases import conformance_cases

#: Arguments for the bundled rules that need one.
EXAMPLE_ARGUMENTS = {
    "static": "static:2",
    "timetable": "timetable:0:01=3,0:02=5",
    "dqn": "dqn:s0-tight",
}
BOUND_ENTRY = "closed_form"


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One thing looked at: its name, whether it holds, and what was seen if not."""

    name: str
    passed: bool
    detail: str = ""


@dataclass
class Report:
    """All checks of one target."""

    target: str
    checks: list[CheckItem] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(item.passed for item in self.checks)

    def add(self, name: str, faults: Iterable[str]) -> None:
        """Record a check; the first fault is its detail."""
        found = list(faults)
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        self.checks.append(CheckItem(name, not found, found[0] + more if found else ""))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        checks = [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in self.checks]
        return {"target": self.target, "passed": self.passed, "checks": checks}


def all_targets() -> list[str]:
    """Return the names of everything that can be checked: entries, dispatch rules, partition rules."""
    return [entry.name for entry in entries()] + dispatch_rules() + partition_rules()


def check_target(target: str, *, time_limit_s: float = 10.0) -> Report:
    """Run the kit on a solver entry or rule, by name or by file.

    Raises
    ------
    InputError, UnknownNameError
        The file or name cannot be used at all.
    """
    if target.endswith(".py"):
        if not find_entry(target).claims:
            return _check_rule(target, _policy_of_file(target))
    elif target in dispatch_rules():
        return _check_rule(target, f"{target}+static:2")
    elif target in partition_rules():
        return _check_rule(target, f"edf_ss_restricted+{EXAMPLE_ARGUMENTS.get(target, target)}")
    return _check_entry(target, time_limit_s)


def _policy_of_file(path: str) -> str:
    rule = load_rule_file(Path(path)).make("")
    if hasattr(rule, "dispatch"):
        return f"{path}+static:2"
    if hasattr(rule, "partition"):
        return f"edf_ss_restricted+{path}"
    raise InputError(
        "make() returns an object with neither dispatch(state) nor partition(state, gpu)",
        source=path,
    )


def _check_rule(target: str, policy_text: str) -> Report:
    report = Report(target)
    crashes, unfinished, illegal, unstable, too_good, ran = [], [], [], [], [], 0
    for instance in conformance_cases():
        try:
            first = solve(instance, PolicySolver(parse_policy(policy_text)))
            second = solve(instance, PolicySolver(parse_policy(policy_text)))
        except MigoptError as error:
            crashes.append(f"{instance.name}: {error}")
            continue
        except Exception as error:
            crashes.append(f"{instance.name}: {type(error).__name__}: {error}")
            continue
        if first.outcome is Outcome.INFEASIBLE_PARTITION:
            unfinished += _left_undone(instance, policy_text, first)
        if first.outcome in (Outcome.NOT_APPLICABLE, Outcome.INFEASIBLE_PARTITION):
            continue
        ran += bool(instance.jobs)
        illegal += [f"{instance.name}: {violation}" for violation in first.violations]
        if first.schedule != second.schedule:
            unstable.append(f"{instance.name}: two runs differ")
        too_good += _below_bound(instance, first)
    report.add("decides without error", crashes)
    report.add("finishes every job that its slices can run", unfinished)
    report.add(
        "applies to some instance",
        [] if ran else ["it finished a schedule on none of the kit's instances"],
    )
    if ran:
        report.add("every schedule is legal", illegal)
        report.add("two runs are equal", unstable)
        report.add("costs no less than the lower bound", too_good)
    return report


def _left_undone(instance: Instance, policy_text: str, answer: Answer) -> list[str]:
    """A run that another dispatch rule finishes under the same partitions is this rule's fault."""
    other = "edf_fs+" + policy_text.partition("+")[2]
    if solve(instance, PolicySolver(parse_policy(other))).upper is None:
        return []
    return [f"{instance.name}: {answer.result.message}; {other} finishes"]


def _check_entry(target: str, time_limit_s: float) -> Report:
    report = Report(target)
    entry = find_entry(target)
    report.add("the file is well formed", [entry.error] if entry.error else [])
    if entry.error:
        return report
    try:
        solver = resolve(target)
    except MissingExtraError as error:
        report.add("what it needs is installed", [str(error)])
        return report
    except MigoptError as error:
        report.add("it can be built", [str(error)])
        return report
    crashes, false_claims, beaten, ran = [], [], [], 0
    for instance in conformance_cases():
        try:
            answer = solve(instance, solver, budget=Budget(time_limit_s))
        except Exception as error:
            crashes.append(f"{instance.name}: {type(error).__name__}: {error}")
            continue
        if answer.outcome is Outcome.NOT_APPLICABLE:
            if not answer.result.message:
                false_claims.append(f"{instance.name}: does not apply and gives no reason")
            continue
        ran += bool(instance.jobs)
        false_claims += [f"{instance.name}: {text}" for text in [answer.claim_error] if text]
        false_claims += [f"{instance.name}: {text}" for text in _empty_claims(answer)]
        if entry.claims != "published":
            beaten += _beaten_by_policy(instance, answer)
            beaten += _below_bound(instance, answer)
    report.add("solves without error", crashes)
    report.add(
        "applies to some instance", [] if ran else ["it applied to none of the kit's instances"]
    )
    report.add("claims what it shows", false_claims)
    report.add("no policy beats its bound, no schedule of its own beats a proven bound", beaten)
    return report


def _empty_claims(answer: Answer) -> list[str]:
    if answer.outcome in (Outcome.OPTIMAL, Outcome.FEASIBLE) and answer.schedule is None:
        return [f"outcome {answer.outcome} without a schedule"]
    if answer.outcome is Outcome.OPTIMAL and answer.lower is None:
        return ["outcome optimal without a lower bound"]
    return []


def _beaten_by_policy(instance: Instance, answer: Answer) -> list[str]:
    """Perturb the claim: no simple policy may cost less than the lower bound claimed."""
    if answer.lower is None:
        return []
    faults = []
    for text in ("edf_fs+static:1", "edf_ss_restricted+static:2", "sjf+static:4", "fifo+no_mig"):
        other = solve(instance, PolicySolver(parse_policy(text)))
        if other.upper is not None and other.upper < answer.lower - 1e-9 * max(
            1.0, abs(answer.lower)
        ):
            faults.append(
                f"{instance.name}: {text} costs {other.upper!r}, below its bound {answer.lower!r}"
            )
    return faults


def _below_bound(instance: Instance, answer: Answer) -> list[str]:
    bound = solve(instance, BOUND_ENTRY)
    if answer.upper is None or bound.lower is None:
        return []
    if answer.upper < bound.lower - 1e-9 * max(1.0, abs(bound.lower)):
        return [
            f"{instance.name}: costs {answer.upper!r}, below the {BOUND_ENTRY} bound {bound.lower!r}"
        ]
    return []
