"""The conformance kit finds rules that crash, idle or break the rules, and says nothing it did not test."""

from __future__ import annotations

import pytest

from migopt.errors import PolicyError
from migopt.registry import resolve
from migopt.results import Budget
from migopt.testing.cases import small_instance
from migopt.testing.conformance import check_target

RULE = '''"""A rule."""
from migopt.sim import DispatchDecision


class Rule:
    """A rule."""

    def dispatch(self, state):
        """Decide."""
        {body}


def make(argument=""):
    """Return the rule."""
    return Rule()
'''


def write(tmp_path, body):
    """Write a rule file with this body of ``dispatch``."""
    path = tmp_path / "mine.py"
    path.write_text(RULE.format(body=body))
    return str(path)


def test_a_good_rule_of_ones_own_passes(tmp_path):
    """Each waiting job, earliest due first, on the first idle slice it fits."""
    body = """runs = {p: s.job for p, s in enumerate(state.slices) if s.job is not None}
        for job in sorted(state.waiting, key=state.due_key):
            for p, s in enumerate(state.slices):
                if p not in runs and state.rate(job, s):
                    runs[p] = job
                    break
        return DispatchDecision(runs)"""
    report = check_target(write(tmp_path, body))
    assert report.passed, report.as_dict()


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ("return DispatchDecision({})", "finishes every job that its slices can run"),
        ("return 1 / 0", "decides without error"),
        ("return DispatchDecision({0: 0, 1: 0})", "decides without error"),
    ],
)
def test_bad_rules_fail_by_name_and_claim_nothing_untested(tmp_path, body, failed):
    """A rule that idles, crashes or runs one job twice fails, and no schedule of it is called legal."""
    report = check_target(write(tmp_path, body))
    results = {item.name: item.passed for item in report.checks}
    assert results[failed] is False
    assert "every schedule is legal" not in results


def test_an_exception_inside_a_rule_is_one_error_with_its_line(tmp_path):
    """simulate with a crashing rule names the rule, the error and the line, without a traceback."""
    path = write(tmp_path, "return 1 / 0")
    with pytest.raises(
        PolicyError, match="failed: ZeroDivisionError: division by zero .mine.py, line 10"
    ):
        resolve(f"{path}+static:2").solve(small_instance(1), Budget())
