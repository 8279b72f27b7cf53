"""The fleet model of CP-SAT by hand: changes, several GPUs, hints, honesty, limits, nasty inputs."""

from __future__ import annotations

import subprocess
import sys
import time
from fractions import Fraction

import pytest
from ortools.sat.python import cp_model

from factories import A30, A100, P_7, P_33, make_instance, make_job
from migopt.check import check
from migopt.exact.cpsat import CpSat
from migopt.exact.cpsat.fleet import model as model_file
from migopt.exact.cpsat.fleet import objective as objective_file
from migopt.exact.cpsat.fleet.decode import from_schedule, in_gpu_order, to_schedule
from migopt.exact.cpsat.fleet.model import FleetModel, Watcher
from migopt.exact.cpsat.fleet.problem import Row, fleet
from migopt.exact.cpsat.fleet.start import first_rows, list_schedule
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.model import Catalogue, FrozenMap, Preemption
from migopt.results import Budget, Outcome, StopReason, active_gap
from migopt.testing.cases import small_instance
from migopt.testing.tick_reference import tick_case

FOREVER = Budget(time_limit_s=None)
FULL = {"7g.40gb": 1_000_000}
THIRD = {"7g.40gb": 1_000_000, "3g.20gb": 1_000_000}


def change_case(**fields):
    """Return a job of 60 s that needs 7g and two of 60 s on 3g or 7g, due at 60, 120 and 120 s."""
    jobs = [make_job(0, ms=60_000, due=60_000, speed=FULL)]
    jobs += [make_job(i, ms=60_000, due=120_000, speed=THIRD) for i in (1, 2)]
    few = FrozenMap({"A100-40GB": Catalogue("few", "A100-40GB", (P_7, P_33))})
    return make_instance(*jobs, **({"a": 0, "mode": "none", "catalogues": few} | fields))


def test_a_change_costs_tau_between_jobs():
    """7g for 60 s, 4 s of change, then both 3g: 4 s late each, 8 s in all; one partition makes one job 60 s late."""
    instance = change_case()
    result = CpSat("free").solve(instance, FOREVER)
    assert (result.outcome, result.class_name) == (Outcome.OPTIMAL, "no preemption")
    assert measure(instance, result.schedule).weighted_tardiness_ms == 8_000
    assert result.lower == pytest.approx(8 / 60 / 3, rel=1e-12)
    kept = CpSat("one").solve(instance, FOREVER)
    assert measure(instance, kept.schedule).weighted_tardiness_ms == 60_000
    assert (kept.outcome, kept.lower) == (Outcome.FEASIBLE, None)


def test_two_gpus_need_no_change():
    """On two GPUs one keeps 7g, the other [3g, 3g], and nothing is late."""
    instance = change_case(gpus=(A100, A100))
    result = CpSat("free").solve(instance, FOREVER)
    assert measure(instance, result.schedule).weighted_tardiness_ms == 0
    assert result.schedule.reconfigurations == ()
    assert CpSat("one").solve(instance, FOREVER).claimed_upper == 0


def test_partitions_that_no_two_gpus_can_share_out_are_infeasible():
    """A job for 7g only and one for 3g only: one GPU that keeps its partition cannot run both, two can."""
    jobs = [make_job(0, speed=FULL), make_job(1, speed={"3g.20gb": 1_000_000})]
    one = make_instance(*jobs, scope="never", mode="none")
    result = CpSat("free").solve(one.replace(gpus=(A100,)), FOREVER)
    assert result.outcome is Outcome.INFEASIBLE_PARTITION
    assert CpSat("free").solve(one.replace(gpus=(A100, A100)), FOREVER).outcome is Outcome.OPTIMAL
    three = (*jobs, make_job(2, speed={"2g.10gb": 1_000_000}), make_job(3, speed={"4g.20gb": 1}))
    result = CpSat("free").solve(one.replace(gpus=(A100, A100), jobs=three), Budget(5.0))
    assert result.outcome is Outcome.INFEASIBLE_PARTITION
    assert "no choice of one partition per GPU" in result.message


def test_a_given_partition_on_several_gpus():
    """Partition 1 everywhere: a job for 3g only fits none of them, and is named."""
    job = make_job(5, speed={"3g.20gb": 1_000_000})
    instance = make_instance(job, gpus=(A100, A100), mode="none")
    result = CpSat(1).solve(instance, FOREVER)
    assert result.outcome is Outcome.INFEASIBLE_PARTITION
    assert "job 5 fits no slice of partition 1" in result.message
    assert CpSat(3).solve(instance, FOREVER).class_name == "no preemption, partition 3"


def test_mig_off_is_kept_by_a_gpu_for_good():
    """Whatever else changes: in schedules of random cases no GPU goes to MIG off or leaves it."""
    seen = 0
    for seed in range(8):
        instance = small_instance(seed, jobs=3, gpus=2, mode="none", mig_off=True)
        result = CpSat("free").solve(instance, Budget(5.0))
        assert check(instance, result.schedule) == []
        seen += any(partition.is_off for partition in result.schedule.initial)
    assert seen > 0


@pytest.mark.parametrize("scope", ["gpu", "slices"])
def test_the_bound_is_the_instance_s_only_if_nothing_else_is_allowed(scope):
    """Scope slices allows changes that stop some slices only; free preemption allows stops."""
    instance = change_case(scope=scope)
    result = CpSat("free").solve(instance, FOREVER)
    assert (result.lower is not None) == (scope == "gpu")
    assert result.class_lower == pytest.approx(8 / 60 / 3, rel=1e-12)
    loose = CpSat("free").solve(instance.replace(preemption=Preemption("free")), FOREVER)
    assert (loose.outcome, loose.lower) == (Outcome.FEASIBLE, None)
    assert "no bound for the instance" in loose.message


@pytest.mark.parametrize("kind", ["kept", "changing", "two kept", "two changing"])
@pytest.mark.parametrize("exact", [True, False])
def test_every_variable_is_hinted_and_the_hint_is_the_first_solution(kind, exact):
    """The engine's first solution costs what the schedule given costs (energy by area cuts where relaxed)."""
    for seed in range(6):
        problem = fleet(tick_case(kind, seed), "free")
        rows = in_gpu_order(problem, list_schedule(problem, range(problem.count)))
        cost = problem.cost(rows)
        built = FleetModel(problem, cost, rows, exact)
        hinted = sorted(built.model.proto.solution_hint.vars)
        assert hinted == list(range(len(built.model.proto.variables)))
        solver, found = cp_model.CpSolver(), []
        solver.parameters.num_workers = 1
        # Presolve may find a better schedule before it looks at the hint.
        solver.parameters.cp_model_presolve = False
        solver.parameters.stop_after_first_solution = True
        watcher = Watcher(built, found.append)
        assert solver.solve(built.model, watcher) in (cp_model.FEASIBLE, cp_model.OPTIMAL)
        assert watcher.objectives[0] == cost
        assert found[0] == rows
        solver.parameters.fix_variables_to_their_hinted_value = True
        assert solver.solve(built.model) == cp_model.OPTIMAL
        assert round(solver.objective_value) == cost


def test_the_hint_of_a_caller_is_the_first_upper_bound():
    """The trajectory begins at the cost of the schedule passed in, or below."""
    instance = generate("s0-slack", seed=2, jobs=5, load=0.9)
    good = CpSat("free").solve(instance, Budget(6.0))
    again = CpSat("free", hint=good.schedule).solve(instance, Budget(0.0))
    assert again.trajectory[0].upper == good.claimed_upper
    assert again.stop is StopReason.TIME_LIMIT


def test_schedules_are_read_back():
    """Rows to a schedule to rows is the identity, changes and several GPUs included."""
    for kind in ("changing", "two changing"):
        for seed in range(10):
            instance = tick_case(kind, seed)
            problem = fleet(instance, "free")
            rows = first_rows(problem, [], seed, 0.2)
            schedule = to_schedule(problem, rows, "test")
            assert check(instance, schedule) == []
            back = from_schedule(problem, schedule)
            assert problem.cost(back) == problem.cost(rows)
            assert problem.cost_exact(back) == measure(instance, schedule).cost_exact


def test_rows_that_break_a_rule_are_not_legal():
    """Too early, two on one slice, classes closer than tau, a job beside MIG off."""
    instance = change_case(mig_off=True, gpus=(A100,))
    jobs = tuple(
        make_job(j.id, ms=60_000, due=j.due_ms, speed={**j.rates["A100-40GB"], "off": 1_000_000})
        for j in instance.jobs
    )
    problem = fleet(instance.replace(jobs=jobs), "free")
    kind, minute = problem.kinds[0], 60_000 // problem.scale.unit_ms
    seven, three = kind.vectors.group_of["7g.40gb"], kind.vectors.group_of["3g.20gb"]
    gap = problem.tau
    good = (Row(0, 0, seven, 0), *(Row(0, 1, three, minute + gap) for _ in range(2)))
    assert problem.legal(good)
    assert not problem.legal((Row(0, 0, seven, -1), *good[1:]))
    assert not problem.legal((good[0], *(Row(0, 1, three, minute + gap - 1) for _ in range(2))))
    assert not problem.legal((good[0], good[1], Row(0, 0, seven, minute - 1)))
    assert not problem.legal((good[0], good[1], Row(0, kind.off, kind.off_group, 10 * minute)))


def test_limits_and_gaps_on_the_fleet_model():
    """The time limit keeps bound and schedule; a gap of 90 % ends early, and says so."""
    instance = generate("s0-slack", seed=1, jobs=14, load=0.9)
    twice = instance.replace(gpus=instance.gpus * 2)
    started = time.perf_counter()
    result = CpSat("free").solve(twice, Budget(3.0))
    assert result.stop is StopReason.TIME_LIMIT
    assert time.perf_counter() - started < 12
    assert check(twice, result.schedule) == []
    assert float(twice.constant_cost) < result.class_lower < result.claimed_upper
    result = CpSat("free").solve(twice, Budget(60.0, gap=0.9))
    assert result.stop in (StopReason.GAP_REACHED, StopReason.FINISHED)
    assert active_gap(twice, result.claimed_upper, result.class_lower) <= 0.9
    points = result.trajectory
    assert [p.upper for p in points] == sorted((p.upper for p in points), reverse=True)
    assert [p.lower for p in points] == sorted(p.lower for p in points)


def test_objectives_too_large_for_floats_are_rounded_down(monkeypatch):
    """With less room for exact numbers the bound stays below the truth, and close."""
    instance = tick_case("two changing", 3)
    truth = CpSat("free").solve(instance, FOREVER).claimed_upper
    monkeypatch.setattr(objective_file, "EXACT_BELOW", 2**24)
    coarse = CpSat("free").solve(instance, FOREVER)
    assert coarse.lower <= truth <= coarse.claimed_upper
    assert coarse.lower == pytest.approx(truth, rel=1e-2)


def test_statuses_that_mean_a_defect_raise():
    """An infeasible model cannot be, since rows are a solution; the engine's word for it is an error."""
    problem = fleet(change_case(), "free")
    rows = in_gpu_order(problem, list_schedule(problem, range(3)))
    built = FleetModel(problem, problem.cost(rows), rows, True)
    built.model.add(built.variables.start[0] < 0)
    with pytest.raises(RuntimeError, match="INFEASIBLE"):
        model_file.run(built, cp_model.CpSolver(), lambda rows: None, lambda lower: None)


@pytest.mark.parametrize("gpus", [(A100,), (A100, A100), (A100, A30)])
@pytest.mark.parametrize("choice", ["free", "one"])
def test_nasty_numbers_keep_bounds_valid(gpus, choice):
    """1 ms jobs beside 10 h jobs, equal dues, zero slack, rates of ratio 10^6: legal, and no bound above the cost."""
    slow = {"7g.40gb": 1_000_000_000, "3g.20gb": 1_000}
    jobs = [
        make_job(0, ms=36_000_000, due=36_000_000),
        make_job(1, ms=1, due=0, speed={"7g.40gb": 1_000_000, "1g.5gb": 1_000_000}),
        make_job(2, ms=1, release=36_000_000, due=36_000_000),
        make_job(3, ms=60_000_000, due=36_000_000, speed=slow),
    ]
    instance = make_instance(
        *jobs, gpus=gpus, mode="none", a=Fraction(1, 10**6), horizon=86_400_000
    )
    result = CpSat(choice).solve(instance, Budget(10.0))
    assert check(instance, result.schedule) == []
    cost = measure(instance, result.schedule).cost_exact
    assert Fraction(result.class_lower) <= cost
    assert result.claimed_upper == float(cost)


def test_no_jobs_on_several_gpus():
    """Without jobs the constant is the optimum."""
    instance = make_instance(gpus=(A100, A100), mode="none")
    result = CpSat("free").solve(instance, FOREVER)
    assert result.outcome is Outcome.OPTIMAL
    assert result.lower == pytest.approx(float(instance.constant_cost), rel=1e-15)


INTERRUPTED = """
import os, signal, sys
from migopt.exact.cpsat import CpSat
from migopt.io.generators import generate
from migopt.results import Budget
events = []
def tell(point):
    events.append(point)
    if len(events) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGINT)
instance = generate("s0-slack", seed=1, jobs=12, load=0.9)
instance = instance.replace(gpus=instance.gpus * 2)
result = CpSat("free", on_event=tell).solve(instance, Budget(time_limit_s=300))
print(result.stop, len(result.schedule.segments), result.class_lower < result.claimed_upper)
"""


@pytest.mark.parametrize("event", ["1", "3"])
def test_ctrl_c_gives_the_best_so_far(event):
    """SIGINT as the search begins, or at the second improvement by the engine: an answer, and no traceback."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, event], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "interrupted 12 True\n", done.stderr
    assert done.returncode == 0
