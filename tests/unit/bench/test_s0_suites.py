"""The S0 suites at reduced size, and the tables made from their records."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from migopt.bench.execute import InstanceCache, execute
from migopt.bench.expand import load_suite
from migopt.bench.runner import _asked
from migopt.bench.spec import RunSpec
from migopt.records import Record, Status

ROOT = Path(__file__).resolve().parents[3]
SUITES = sorted(path.stem for path in (ROOT / "benchmarks" / "suites").glob("s0-*.toml"))
#: Entries that search until their time is over, learn, or roll out futures have tests of their own.
SLOW = ("split_bound", "lp_bound", "day_plan", "rollout", "receding", "dqn")


def _small(run: RunSpec) -> RunSpec:
    few = {"jobs": 12, "load": 0.5}
    kept = {k: v for k, v in run.instance.parameters.items() if k != "rate_multiplier"}
    return replace(run, instance=replace(run.instance, parameters=kept | few))


@pytest.mark.parametrize("suite", SUITES)
def test_suite_runs_at_reduced_size(suite: str, tmp_path: Path) -> None:
    """Two days of twelve jobs: per class some entries run, none fails."""
    runs = load_suite(ROOT / "benchmarks" / "suites" / f"{suite}.toml", seeds=2).runs
    assert {run.seed for run in runs} == {1, 2}
    chosen = {}
    for run in runs:
        if not any(word in run.entry for word in SLOW):
            chosen.setdefault((run.instance.instance_class, run.seed), []).append(run)
    assert chosen
    cache = InstanceCache()
    for mine in chosen.values():
        for run in (mine[0], mine[-1]):
            fields = execute(_small(run), tmp_path, cache)
            assert fields["status"] in (Status.OK, Status.SKIPPED), fields
            assert fields["status"] is Status.OK or fields["reason"]


@pytest.mark.parametrize("suite", ["s0-table3", "s0-gaps"])
def test_every_policy_plays_on_the_same_days(suite: str) -> None:
    """In both scenarios each policy, the shipped network included, plays on the first 30 days at least."""
    runs = load_suite(ROOT / "benchmarks" / "suites" / f"{suite}.toml").runs
    seeds: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        seeds.setdefault((run.instance.instance_class, run.spec), set()).add(run.seed)
    joint = [f"{name}+{name}" for name in ("priced", "rollout", "receding_horizon")]
    rules = ("no_mig", "static:2", "static:best_day", "day_night", "look_ahead", "miso", "dqn")
    for scenario in ("s0-slack", "s0-tight"):
        for spec in (*joint, *(f"edf_ss_restricted+{rule}" for rule in rules)):
            assert seeds[scenario, spec] >= set(range(1, 31)), (scenario, spec)
        if suite == "s0-table3":
            assert seeds[scenario, "edf_ss_restricted+dqn"] == set(range(1, 501))


@pytest.fixture(autouse=True)
def _scripts_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def _reproduction() -> ModuleType:
    path = ROOT / "benchmarks" / "reproduction.py"
    spec = importlib.util.spec_from_file_location("reproduction", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gain_is_one_minus_the_ratio_of_means() -> None:
    """(1 + 3) against (2 + 6) is a gain of 50 %, of equal ratios without spread; (1, 2) against (2, 2) of 25 %."""
    ratio = _reproduction().ratio
    found = ratio([(1.0, 2.0), (3.0, 6.0)])
    assert found.mean == found.low == found.high == 0.5
    other = ratio([(1.0, 2.0), (2.0, 2.0)])
    assert other.mean == 0.25
    assert other.low < 0.25 < other.high
    assert ratio([(1.0, 2.0)]) is None


def test_tables_of_a_small_table_three(tmp_path: Path) -> None:
    """Best Static is the least mean, and the recalibrated weight makes tardiness twice the energy."""
    module = _reproduction()
    suite = load_suite(ROOT / "benchmarks" / "suites" / "s0-table3.toml", seeds=2, only="s0-slack/")
    cache, lines = InstanceCache(), []
    for run in suite.runs:
        if not any(word in run.entry for word in SLOW):
            fields = execute(_small(run), tmp_path, cache)
            fields.pop("schedule_file", None)
            lines.append(Record(**_asked(run), **fields).to_line())
    (tmp_path / "records.jsonl").write_bytes(b"".join(lines))
    found = module.load(tmp_path)
    runs = found["s0-slack"]
    statics = [entry for entry in runs if entry.startswith("edf_ss_restricted+static:")]
    means = {e: sum(r.cost for r in runs[e].values()) / 2 for e in statics if "day" not in e}
    assert means[module.best_static(runs)] == min(means.values())
    assert "`edf_ss_restricted+look_ahead`" in module.table3(found)


def test_partial_table_compares_one_policy_on_the_same_days() -> None:
    """Only days that all three runs share count: (2 + 4) under slices against (4 + 8) is 50 % less."""
    module = _reproduction()

    def runs(costs: dict[int, float]) -> dict[int, SimpleNamespace]:
        return {
            s: SimpleNamespace(cost=c, metrics={"preemptions": 10 * s}) for s, c in costs.items()
        }

    entry = "edf_ss+miso"
    found = {
        "s0-slack-base": {entry: runs({1: 4.0, 2: 8.0, 3: 100.0})},
        "s0-slack-partial": {
            entry: runs({1: 2.0, 2: 4.0, 3: 1.0}),
            f"{entry}:keep=yes": runs({1: 3.0, 2: 6.0}),
        },
    }
    rows = module.partial(found).splitlines()[2:]
    assert len(rows) == 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert cells[:2] == ["s0-slack", "`edf_ss+miso`"]
    assert [cell.split()[0] for cell in cells[2:5]] == ["6.000", "3.000", "4.500"]
    assert cells[5:] == ["50.0 % (50.0 to 50.0)", "15 / 15 / 15", "2"]


def test_a_claim_holds_where_its_interval_lies_on_one_side() -> None:
    """Four intervals, one per verdict, and two scenarios that differ are both named."""
    import _claims

    from migopt.report.statistics import Interval

    states = [
        _claims.judged(Interval(mean, low, high, 9)).state
        for mean, low, high in (
            (0.02, 0.01, 0.03),
            (-0.02, -0.03, -0.01),
            (0.01, -0.01, 0.03),
            (0.0004, 0.0003, 0.0005),
        )
    ]
    assert states == [_claims.YES, _claims.NO, _claims.OPEN, _claims.NIL]
    assert _claims.judged(None).state == _claims.ABSENT
    yes, no = _claims.Finding("a", _claims.YES), _claims.Finding("b", _claims.NO)
    assert _claims.verdict({"s0-slack": yes, "s0-tight": yes}) == "holds"
    both = _claims.verdict({"s0-slack": yes, "s0-tight": no})
    assert both == "holds under `s0-slack`; does not hold under `s0-tight`"


def test_every_published_number_has_a_verdict() -> None:
    """Eight ETs and the three gains of Dynamic; 1 - 2.82/8.56, 2.82/3.97 and 2.82/3.68 are 67.1, 29.0 and 23.4 %."""
    import _claims

    listed = {claim: theirs for claim, theirs, _ in _claims.claims()}
    numbers = {theirs for claim, theirs in listed.items() if claim.startswith("ET of")}
    assert numbers == {"5.53", "5.37", "6.32", "6.83", "8.56", "3.97", "3.68", "2.82"}
    gains = [theirs for claim, theirs in listed.items() if claim.startswith("Dynamic")]
    assert [gain.split(";")[0].split()[-2] for gain in gains] == ["67.1", "29.0", "23.4"]


def test_gaps_of_every_day_are_kept() -> None:
    """Lower bound 3 with 1 of it idle: a policy at 4 above idle has the gap 1 - 2/4 on that day."""
    module = _reproduction()

    def record(cost: float | None, lower: float | None, claims: str) -> SimpleNamespace:
        metrics = {} if cost is None else {"active_cost": cost - 1}
        return SimpleNamespace(
            cost=cost, proven_lower=lower, claims=claims, metrics=metrics, constant_cost="1/1"
        )

    found = {
        "s0-tight": {
            "split_bound": {7: record(None, 3.0, "bound")},
            "fifo+static:1": {7: record(5.0, None, "heuristic"), 8: record(9.0, None, "heuristic")},
        }
    }
    assert module.gaps_by_day(found) == {
        "s0-tight": {"lower_above_idle": {7: 2.0}, "fifo+static:1": {7: 0.5}}
    }
