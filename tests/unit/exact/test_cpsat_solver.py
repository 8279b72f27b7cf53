"""The CP-SAT solver as a whole: outcomes, honesty about its class, limits, interruption."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from fractions import Fraction
from itertools import pairwise

import pytest

from factories import P_43, make_instance, make_job, make_schedule, seg
from migopt.check import check
from migopt.exact.cpsat import CpSat
from migopt.exact.cpsat import case as case_file
from migopt.exact.cpsat import model as model_file
from migopt.exact.cpsat.model import CaseModel
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.model import Catalogue, FrozenMap, Partition, PowerCurve, Preemption, Repartition
from migopt.results import Budget, Outcome, StopReason, active_gap
from migopt.testing.cases import small_instance

FOREVER = Budget(time_limit_s=None)


def strict(instance):
    """Return the instance without preemption and repartition, the solver's own class."""
    return instance.replace(preemption=Preemption("none"), repartition=Repartition("never", 4000))


def hard(jobs=14):
    """Return an instance that is not proved within seconds."""
    return generate("s0-slack", seed=1, jobs=jobs, load=0.9)


def test_two_jobs_share_the_gpu_rather_than_queue(two_jobs):
    """By hand: power rises by 10 W per slice, so energy is equal everywhere, and only lateness counts.

    Jobs of 28 s and 12 s on 1g, due at 28 s and 12 s: nothing is late on any partition but those
    that have too few slices; above idle they cost 40 slot-seconds at 10 W.
    """
    result = CpSat().solve(strict(two_jobs), FOREVER)
    scored = measure(two_jobs, result.schedule)
    assert (result.outcome, scored.weighted_tardiness_ms) == (Outcome.OPTIMAL, 0)
    assert scored.energy_uj == 600_000 * 40_000 + 40_000 * 10_000


def test_waiting_to_overlap_is_found():
    """Idling for later work can be optimal: the first step of the curve is paid once if both run together.

    Two jobs of 1 s each on 1g, released at 0 and 5 s, due at 9 s: apart they cost 2 x 80 W·s, together
    100 W·s, so the first one waits.
    """
    power = FrozenMap({"A100-40GB": PowerCurve(tuple(1000 * w for w in (0, 80, 100, *[900] * 5)))})
    catalogues = FrozenMap(
        {"A100-40GB": Catalogue("two", "A100-40GB", (Partition.parse("1g.5gb@0,1g.5gb@1"),))}
    )
    instance = make_instance(
        make_job(0, ms=1_000, due=9_000),
        make_job(1, ms=1_000, release=5_000, due=9_000),
        mode="none",
        catalogues=catalogues,
        power=power,
    )
    result = CpSat().solve(instance, FOREVER)
    assert result.outcome == Outcome.OPTIMAL
    assert measure(instance, result.schedule).energy_uj == 1_000 * 100_000
    assert {segment.start_ms for segment in result.schedule.segments} <= set(range(5_000, 8_001))


def test_the_bound_of_the_class_is_not_given_out_as_one_of_the_instance(two_jobs):
    """Where preemption is free, the result is feasible, its bound the class's, and the message says so."""
    result = CpSat().solve(two_jobs, FOREVER)
    assert (result.outcome, result.lower) == (Outcome.FEASIBLE, None)
    assert result.class_lower is not None
    assert result.class_name == "no preemption, one partition for the whole run"
    assert "no bound for the instance" in result.message


def test_a_fixed_partition_is_a_class_of_its_own(two_jobs):
    """On a given partition the optimum is that partition's, and no bound for an instance that has others."""
    result = CpSat(1).solve(strict(two_jobs), FOREVER)
    assert result.schedule.initial[0].profiles == ("7g.40gb",)
    assert (result.outcome, result.lower) == (Outcome.FEASIBLE, None)
    assert result.class_name == "no preemption, partition 1"


def test_a_job_that_fits_nowhere_on_the_partition_is_named():
    """A job that runs on 7g only makes [4g, 3g] infeasible; the solver says which job."""
    instance = make_instance(make_job(0), make_job(7, speed={"7g.40gb": 1_000_000}))
    result = CpSat(2).solve(instance, FOREVER)
    assert result.outcome == Outcome.INFEASIBLE_PARTITION
    assert "job 7 fits no slice of partition 2" in result.message
    assert CpSat().solve(instance, FOREVER).schedule.initial[0].profiles == ("7g.40gb",)


def test_an_instance_that_is_not_covered_is_refused_with_the_reason():
    """Forty-one jobs: not applicable, and no schedule."""
    result = CpSat().solve(make_instance(*(make_job(i) for i in range(41))), FOREVER)
    assert (result.outcome, result.schedule) == (Outcome.NOT_APPLICABLE, None)
    assert "41 jobs: cpsat covers up to 40" in result.message


def test_power_that_cannot_be_split_is_refused_with_the_reason(monkeypatch):
    """Where power follows no levels the solver does not apply, rather than model it wrongly."""

    def refuse(extra, levels):
        raise ValueError("power depends on more than the busy level")

    monkeypatch.setattr(case_file, "split_power", refuse)
    result = CpSat().solve(make_instance(make_job(0)), FOREVER)
    assert result.outcome == Outcome.NOT_APPLICABLE
    assert "more than the busy level" in result.message


def test_no_jobs_are_done_at_once():
    """Without jobs the constant is the optimum."""
    instance = strict(make_instance())
    result = CpSat().solve(instance, FOREVER)
    assert result.outcome == Outcome.OPTIMAL
    assert result.schedule.segments == ()
    assert result.lower == pytest.approx(float(instance.constant_cost), rel=1e-15)


def test_a_zero_time_limit_still_gives_a_schedule_and_a_bound():
    """Out of time before the first run: a list schedule and the closed bound are there."""
    instance = hard()
    result = CpSat().solve(instance, Budget(time_limit_s=0))
    assert (result.outcome, result.stop) == (Outcome.FEASIBLE, StopReason.TIME_LIMIT)
    assert check(instance, result.schedule) == []
    assert 0 < result.class_lower <= result.claimed_upper


def test_the_time_limit_is_kept():
    """A hard case stops close to its limit, with bounds on both sides."""
    started = time.perf_counter()
    result = CpSat().solve(hard(20), Budget(time_limit_s=1.5))
    assert result.stop == StopReason.TIME_LIMIT
    assert time.perf_counter() - started < 6
    assert result.class_lower < result.claimed_upper


def test_a_gap_ends_the_search_early():
    """With 30 % allowed, the search stops within it and says so."""
    instance = hard(10)
    result = CpSat().solve(instance, Budget(time_limit_s=60, gap=0.3))
    upper = measure(instance, result.schedule).cost
    assert result.stop in (StopReason.GAP_REACHED, StopReason.FINISHED)
    assert active_gap(instance, upper, result.class_lower) <= 0.3


def test_the_trajectory_only_improves_and_ends_at_the_result():
    """Upper bounds fall, lower bounds rise, time goes on; the last event is the last point."""
    seen = []
    solver = CpSat(on_event=seen.append)
    result = solver.solve(small_instance(5, jobs=6), FOREVER)
    points = result.trajectory
    assert len(points) > 1
    for before, after in pairwise(points):
        assert after.wall_s >= before.wall_s
        assert after.upper <= before.upper
        assert after.lower >= before.lower
    assert (points[-1].upper, points[-1].lower) == (result.claimed_upper, result.class_lower)
    assert seen == list(points)
    assert solver.last_event == points[-1]


def test_a_hint_of_the_class_is_never_lost():
    """With no time at all, the schedule given is at least as good as what comes back."""
    instance = hard()
    good = CpSat().solve(instance, Budget(time_limit_s=1))
    again = CpSat(hint=good.schedule).solve(instance, Budget(time_limit_s=0))
    assert again.claimed_upper <= good.claimed_upper


def test_a_hint_outside_the_class_lends_its_order():
    """A schedule with a stopped job is no start as it is, and does no harm."""
    instance = make_instance(make_job(0), make_job(1, ms=12_000))
    hint = make_schedule(
        seg(0, "4g.20gb@0", 0, 3_000),
        seg(0, "4g.20gb@0", 4_000, 8_000),
        seg(1, "3g.20gb@4", 0, 4_000),
        initial=P_43,
    )
    assert CpSat(hint=hint).solve(instance, FOREVER).class_lower is not None


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_change_nothing_in_the_answer(threads):
    """Cases side by side, and several threads on one case, prove the same optimum."""
    for seed in (0, 3, 6):
        instance = small_instance(seed, jobs=5, mode="none", scope="never", mig_off=True)
        one = CpSat().solve(instance, FOREVER)
        many = CpSat().solve(instance, Budget(time_limit_s=None, threads=threads))
        assert (many.outcome, many.claimed_upper) == (Outcome.OPTIMAL, one.claimed_upper)
        fixed = CpSat(3, workers=threads).solve(instance, FOREVER)
        assert fixed.claimed_upper == CpSat(3).solve(instance, FOREVER).claimed_upper


def test_coefficients_too_large_for_the_engine_are_rounded_down(monkeypatch):
    """With a weight of 15 digits, or less room for exact numbers, the bound stays below and close."""
    weight = Fraction(123_456_789_012_345, 9_876_543_210_987_654_321)
    for seed in range(6):
        instance = small_instance(seed, jobs=4, mode="none", scope="never", weight_a=weight)
        rounded = CpSat().solve(instance, FOREVER)
        assert rounded.outcome == Outcome.OPTIMAL
        exact = measure(instance, rounded.schedule).cost_exact
        assert Fraction(rounded.lower) <= exact
        assert rounded.lower == pytest.approx(float(exact), rel=1e-6)
    instance = small_instance(1, jobs=5, mode="none", scope="never")
    truth = CpSat().solve(instance, FOREVER).claimed_upper
    monkeypatch.setattr(model_file, "EXACT_BELOW", 2**36)
    coarse = CpSat().solve(instance, FOREVER)
    assert coarse.lower <= truth <= coarse.claimed_upper
    assert coarse.lower == pytest.approx(truth, rel=1e-3)


def test_an_invalid_model_is_an_error_not_an_answer():
    """Every status of the engine is mapped; the one that means a defect raises."""
    from ortools.sat.python import cp_model

    from migopt.exact.cpsat.case import cases
    from migopt.exact.cpsat.start import first_rows

    (case,) = cases(make_instance(make_job(0), make_job(1)), 2)
    rows = first_rows(case)
    built = CaseModel(case, case.cost(rows), rows, True)
    built.model.proto.variables[0].domain[0] = 10**9
    with pytest.raises(RuntimeError, match="MODEL_INVALID"):
        model_file.run(built, cp_model.CpSolver(), lambda rows: None, lambda lower: None)


INTERRUPTED = """
import sys
from migopt.exact.cpsat import CpSat
from migopt.io.generators import generate
from migopt.results import Budget
instance = generate("s0-slack", seed=1, jobs=20, load=0.9)
print("ready", flush=True)
result = CpSat().solve(instance, Budget(time_limit_s=100, threads=int(sys.argv[1])))
print(result.stop, len(result.schedule.segments), result.class_lower < result.claimed_upper)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_gives_the_best_so_far(threads):
    """SIGINT in the middle of a run: the process answers at once with what it has."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(threads)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        started = time.perf_counter()
        assert process.stdout.read() == "interrupted 20 True\n"
        assert time.perf_counter() - started < 10
    assert process.returncode == 0
