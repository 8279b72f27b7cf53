"""Slot models by hand: grid, change of partition, MIG off, stops, tolerances, engines, limits."""

from __future__ import annotations

import pytest
from pyomo.opt import TerminationCondition

from factories import A30, P_7, P_33, make_instance, make_job
from migopt.bounds.base import float_below
from migopt.check import check
from migopt.errors import InputError
from migopt.exact.slot_cpsat import SlotCpSat
from migopt.exact.slot_cpsat import solver as cpsat_solver
from migopt.exact.slot_milp import SlotMilp, engine
from migopt.exact.slot_milp import solver as milp_solver
from migopt.exact.slots import why_not
from migopt.exact.slots.answer import prepare
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.model import Catalogue, FrozenMap, PowerCurve
from migopt.results import Budget, Outcome, StopReason

BOTH = pytest.mark.parametrize("solver", [SlotCpSat, SlotMilp])
FULL = {"7g.40gb": 1_000_000}
THIRD = {"7g.40gb": 1_000_000, "3g.20gb": 1_000_000}


def two(*partitions):
    """Return a catalogue of these partitions."""
    return FrozenMap({"A100-40GB": Catalogue("few", "A100-40GB", partitions)})


def change_case(scope="gpu", tau=4_000):
    """Return job 0, which needs 7g for 60 s, and two that take 60 s on 3g, all released at 0."""
    jobs = [make_job(0, ms=60_000, due=60_000, speed=FULL)]
    jobs += [make_job(i, ms=60_000, due=120_000, speed=THIRD) for i in (1, 2)]
    return make_instance(*jobs, a=0, scope=scope, tau=tau, catalogues=two(P_7, P_33))


@BOTH
def test_a_change_loses_tau_of_its_slot(solver):
    """In slots of 20 s the two jobs need a fourth slot: 16 + 20 + 20 s is 4 s short, so both end at 140 s.

    That is 20 s late each on the grid; as a schedule they are at least the 4 s late that any order costs.
    """
    result = solver(slot_ms=20_000).solve(change_case(), Budget(60))
    assert result.stop is StopReason.FINISHED
    assert result.detail["grid"]["value"] == pytest.approx(40 / 60 / 3)
    scored = measure(change_case(), result.schedule)
    assert 8_000 <= scored.weighted_tardiness_ms <= 40_000
    assert check(change_case(), result.schedule) == []
    assert len(result.schedule.reconfigurations) == 1


@BOTH
def test_an_idle_slot_takes_the_change(solver):
    """With the small jobs released at 80 s, slot 60 to 80 s is idle: the change is made there and costs nothing."""
    jobs = [make_job(0, ms=60_000, due=60_000, speed=FULL)]
    jobs += [make_job(i, ms=60_000, release=80_000, due=140_000, speed=THIRD) for i in (1, 2)]
    instance = make_instance(*jobs, a=0, catalogues=two(P_7, P_33))
    result = solver(slot_ms=20_000).solve(instance, Budget(60))
    assert measure(instance, result.schedule).weighted_tardiness_ms == 0
    assert result.detail["grid"]["value"] == 0
    assert result.schedule.reconfigurations[0].start_ms == 60_000


@BOTH
def test_without_changes_the_best_single_partition_is_taken(solver):
    """Scope never: only 7g runs job 0, so the other two follow it one by one: 60 s late the last, none the first."""
    instance = change_case(scope="never")
    for partition in ("free", "one", 1):
        result = solver(partition, 20_000).solve(instance, Budget(60))
        assert result.detail["grid"]["value"] == pytest.approx(60 / 60 / 3)
        assert result.schedule.reconfigurations == ()
    result = solver("one", 20_000).solve(instance, Budget(60))
    assert result.detail["grid"]["class"] == (
        "acts every 20 s from 0 s on only, slices held to the end of the slot, "
        "one partition for the whole run"
    )
    assert result.class_lower is None


@BOTH
def test_a_job_that_fits_no_slice_of_the_partition_is_named(solver):
    """Partition 2 has no 7g: infeasible, with the job."""
    result = solver(2).solve(change_case(), Budget(60))
    assert (result.outcome, result.schedule) == (Outcome.INFEASIBLE_PARTITION, None)
    assert "job 0 fits no slice of partition 2" in result.message


@BOTH
def test_mig_off_is_chosen_for_the_whole_run_or_not_at_all(solver):
    """At 48 W busy MIG off (8 W above idle) is cheapest for two jobs of 4 s on 7g; no other partition is used."""
    curve = FrozenMap(
        {
            "A100-40GB": PowerCurve(
                tuple(1000 * w for w in (40, 50, 60, 70, 80, 90, 100, 110)), 48_000
            )
        }
    )
    jobs = [make_job(i, due=60_000) for i in range(2)]
    instance = make_instance(*jobs, mig_off=True, power=curve)
    result = solver(slot_ms=5_000).solve(instance, Budget(60))
    assert result.schedule.initial[0].is_off
    assert result.detail["partition"] == "MIG off"
    assert measure(instance, result.schedule).energy_uj == 600_000 * 40_000 + 8_000 * 8_000


@BOTH
@pytest.mark.parametrize(("mode", "late"), [("free", 0), ("cost", 20_000), ("none", 20_000)])
def test_jobs_stop_only_where_the_instance_lets_them_for_nothing(solver, mode, late):
    """A job of 60 s due at 80 s gives way to an urgent one of 20 s; if it may not stop, it waits and is 20 s late."""
    long = make_job(0, ms=60_000, due=80_000, speed=FULL)
    urgent = make_job(1, ms=20_000, release=20_000, due=40_000, speed=FULL)
    instance = make_instance(long, urgent, a=0, mode=mode, overhead=1_000, catalogues=two(P_7))
    result = solver(slot_ms=20_000).solve(instance, Budget(60))
    assert check(instance, result.schedule) == []
    assert measure(instance, result.schedule).weighted_tardiness_ms == late


@BOTH
def test_a_unit_of_work_too_much_for_three_slots_takes_a_fourth(solver):
    """Work of 3 slots and one unit: a relative 6e-12 that no float engine sees, a whole slot on the grid."""
    rates = {"7g.40gb": 1_000_000, "3g.20gb": 999_983}
    job = make_job(0, work=3 * 60_000 * 1_000_000 + 1, due=180_000, speed=rates)
    instance = make_instance(job, a=0, catalogues=two(P_7, P_33))
    result = solver(slot_ms=60_000).solve(instance, Budget(60))
    assert result.detail["grid"]["value"] == 1.0
    assert measure(instance, result.schedule).weighted_tardiness_ms == 1
    exact = make_job(0, work=3 * 60_000 * 1_000_000, due=180_000, speed=rates)
    assert (
        solver(slot_ms=60_000)
        .solve(instance.replace(jobs=(exact,)), Budget(60))
        .detail["grid"]["value"]
        == 0
    )


def test_short_plans_of_a_float_engine_are_cut_off():
    """A plan that lacks one unit of work is refused, and so is the same set of slots in the next run."""
    rates = {"7g.40gb": 1_000_003, "3g.20gb": 500_009}
    # Two slots of 7g and one of 3g are 1 unit short of the work, far below any float tolerance.
    work = 60_000 * (2 * 1_000_003 + 500_009) + 1
    job = make_job(0, work=work, due=180_000, speed=rates)
    instance = make_instance(job, a=0, scope="gpu", tau=0, catalogues=two(P_7, P_33))
    first = SlotCpSat(slot_ms=60_000).solve(instance, Budget(60))
    second = SlotMilp(slot_ms=60_000).solve(instance, Budget(60))
    assert first.detail["grid"]["objective"] == second.detail["grid"]["objective"]
    assert check(instance, second.schedule) == []


@BOTH
def test_no_jobs_and_no_time(solver):
    """Without jobs the constant is the optimum; without time the first plan and a bound are there."""
    empty = make_instance()
    result = solver().solve(empty, Budget(60))
    assert result.detail["grid"]["value"] == float(empty.constant_cost)
    assert result.detail["grid"]["lower"] == pytest.approx(
        result.detail["grid"]["value"], rel=1e-15
    )
    instance = generate("s0-slack", seed=1, jobs=6, load=0.9)
    result = solver(slots=12).solve(instance, Budget(0.0))
    assert result.stop is StopReason.TIME_LIMIT
    assert check(instance, result.schedule) == []
    assert result.lower is None
    assert result.detail["grid"]["lower"] <= result.detail["grid"]["value"]


@BOTH
def test_the_time_limit_keeps_the_bound(solver):
    """Ten jobs in a second: not proved, and the bound of the class is not below the constant and below the plan."""
    instance = generate("s0-tight", seed=1, jobs=10, load=0.9)
    result = solver(slots=40).solve(instance, Budget(4.0))
    assert (result.outcome, result.stop) == (Outcome.FEASIBLE, StopReason.TIME_LIMIT)
    assert (
        float_below(instance.constant_cost)
        <= result.detail["grid"]["lower"]
        < result.detail["grid"]["value"]
    )
    assert result.message.startswith("best found on a grid")


@BOTH
def test_a_gap_ends_the_search(solver):
    """With 60 % allowed the search stops within it."""
    instance = generate("s0-slack", seed=2, jobs=4, load=0.9)
    result = solver(slots=8).solve(instance, Budget(60, gap=0.6))
    assert result.stop in (StopReason.GAP_REACHED, StopReason.FINISHED)
    constant = float(instance.constant_cost)
    upper, lower = (
        result.detail["grid"]["value"] - constant,
        result.detail["grid"]["lower"] - constant,
    )
    assert upper - lower <= 0.6001 * upper


def test_the_first_solution_is_the_plan_that_was_hinted():
    """Every variable of the CP-SAT model is hinted, and the engine's first solution is the first plan."""
    from ortools.sat.python import cp_model

    for seed in range(5):
        instance = generate("s0-slack", seed=seed, jobs=4, load=0.9)
        found = prepare(instance, "free", 0, 10, 0.0)
        model, var = cpsat_solver.build(found)
        assert sorted(model.proto.solution_hint.vars) == list(range(len(model.proto.variables)))
        watcher = cpsat_solver.Watcher(found, var)
        first, solver = found.upper, cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.stop_after_first_solution = True
        solver.solve(model, watcher)
        assert watcher.objectives[0] == first


def test_engines_that_are_not_installed_are_refused_by_name():
    """The error names what was asked for and what there is."""
    with pytest.raises(InputError, match=r"'nosuchengine' is not installed; installed: .*highs"):
        SlotMilp(engine="nosuchengine").solve(change_case(), Budget(1))
    assert "highs" in engine.installed()


def test_another_interface_of_pyomo_can_be_named():
    """Any name that Pyomo knows: its older HiGHS interface gives the same optimum."""
    result = SlotMilp(slot_ms=20_000, engine="appsi_highs").solve(change_case(), Budget(60))
    assert result.detail["grid"]["value"] == pytest.approx(40 / 60 / 3)
    assert result.engine.startswith("appsi_highs by Pyomo")


def test_every_status_of_pyomo_is_mapped():
    """Each termination condition has a meaning; only optimality is one that proves."""
    assert set(engine.STOPS) == set(TerminationCondition)
    finished = {status for status, stop in engine.STOPS.items() if stop is StopReason.FINISHED}
    assert finished == {
        TerminationCondition.optimal,
        TerminationCondition.globallyOptimal,
        TerminationCondition.locallyOptimal,
    }


@pytest.mark.parametrize(
    ("ending", "stop"),
    [
        (engine.Ending(StopReason.ERROR, None, False, "licensingProblems"), StopReason.ERROR),
        (engine.Ending(StopReason.TIME_LIMIT, 1.5, False, "maxTimeLimit"), StopReason.TIME_LIMIT),
        (engine.Ending(StopReason.INTERRUPTED, 1.5, False, "interrupt"), StopReason.INTERRUPTED),
    ],
)
def test_an_engine_that_ends_without_a_plan_leaves_the_first_one(monkeypatch, ending, stop):
    """Whatever the engine says, a legal schedule comes back, and a bound that it gave is kept."""
    monkeypatch.setattr(milp_solver.engine, "run", lambda *_: ending)
    result = SlotMilp(slot_ms=20_000).solve(change_case(), Budget(60))
    assert (result.outcome, result.stop) == (Outcome.FEASIBLE, stop)
    assert check(change_case(), result.schedule) == []
    if ending.lower:
        upper = result.detail["grid"]["objective"]
        assert upper < 1000  # so that the engine's objective has the unit of the data
        assert result.detail["grid"]["lower"] == pytest.approx(
            1.5 / upper * result.detail["grid"]["value"]
        )
    else:
        assert ending.said in result.message


def test_statuses_of_cp_sat_that_mean_a_defect_raise():
    """Infeasible cannot be: a plan is known; an invalid model is a defect, too."""
    from ortools.sat.python import cp_model

    found = prepare(change_case(), "free", 20_000, 0, 0.0)
    for status in (cp_model.INFEASIBLE, cp_model.MODEL_INVALID):
        with pytest.raises(RuntimeError, match="slot model"):
            cpsat_solver.take(found, cp_model.CpSolver(), status)


FALLING = FrozenMap({"A100-40GB": PowerCurve((40_000, *[90_000, 50_000] * 3, 95_000))})


@pytest.mark.parametrize(
    ("instance", "given", "reason"),
    [
        (make_instance(make_job(0), gpus=(A30, A30)), {}, "2 GPUs: the slot models cover one"),
        (make_instance(*(make_job(i) for i in range(21))), {}, "21 jobs: the slot models cover up"),
        (make_instance(make_job(0), power=FALLING), {}, "power falls where more slices"),
        (make_instance(make_job(0), power=FrozenMap({})), {}, "no power curve"),
        (make_instance(make_job(0)), {"partition": 9}, "partitions 1 to 5, not 9"),
        (make_instance(make_job(0)), {"slot_ms": 4_000}, "take longer slots"),
        (make_instance(make_job(0), kind="gang"), {}, "not gang"),
    ],
)
def test_what_is_not_covered_is_named(instance, given, reason):
    """Each limit of the models is told in words, before any engine is loaded."""
    assert reason in (why_not(instance, **given) or "")


@BOTH
def test_a_grid_of_too_many_slots_is_refused(solver):
    """A job of ten hours in slots of ten seconds needs thousands of slots."""
    instance = make_instance(make_job(0, ms=36_000_000, speed=FULL), a=0)
    result = solver(slot_ms=10_000).solve(instance, Budget(60))
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert "slots of 10000 ms: the slot models cover up to 400" in result.message
    short = make_job(1, ms=1, speed=FULL, due=0)
    both = make_instance(make_job(0, ms=36_000_000, speed=FULL), short, a=0)
    result = solver().solve(both, Budget(60))
    assert result.stop is StopReason.FINISHED
    assert check(both, result.schedule) == []
