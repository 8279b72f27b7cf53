"""Steps on the compiled simulator against the readable one: decisions, snapshots, look ahead, many runs."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

from factories import P_7, P_43, make_instance, make_job
from migopt.errors import InfeasiblePartitionError, NotApplicableError, PolicyError
from migopt.metrics import measure
from migopt.model import OFF_PARTITION, Partition, Placement
from migopt.schedulers import dispatch_rules, parse_policy
from migopt.sim import DispatchDecision, PartitionDecision, Simulator, simulate, vector
from migopt.sim import layout as at
from migopt.sim.state import Cause
from migopt.sim.stepper import ARRIVALS_AND_COMPLETIONS, Stepper, VectorStepper
from migopt.testing.cases import random_instance, small_instance

RULES = ("edf_ss_restricted", "edf_fs", "lalf", "sjf", "cedf")


def rule(name: str):
    """Return a fresh readable dispatch rule."""
    return parse_policy(f"{name}+static:1").dispatcher()


#: Rules that the kernel can play.
COMPILED = [name for name in dispatch_rules() if hasattr(rule(name), "compiled")]


class Keeps:
    """Has one partition per GPU from the start."""

    def __init__(self, partitions) -> None:
        self.partitions = partitions

    def partition(self, state, gpu):
        """Return it once."""
        return PartitionDecision(self.partitions[gpu] if state.partitions[gpu] is None else None)


def instances(count: int, **fields):
    """Yield random instances on which their first partitions run every job."""
    seed = 0
    while count:
        seed += 1
        instance = random_instance(seed)
        fits = all(
            instance.rate(j, instance.gpus[0], first(instance, 0).profiles[0])
            for j in instance.jobs
        )
        if instance.jobs and fits and instance.repartition.scope != "never":
            count -= 1
            yield seed, instance


def runs_anywhere(instance) -> bool:
    """Return whether every job fits under every partition of the first GPU's catalogue."""
    model = instance.gpus[0]
    return all(
        any(instance.rate(job, model, profile) for profile in partition.profiles)
        for job in instance.jobs
        for partition in instance.catalogue(0)
    )


def first(instance, gpu):
    """Return a GPU's first partition."""
    return instance.catalogue(gpu)[1]


def test_stepping_is_running() -> None:
    """Advance and dispatch until the end give the schedule of one run."""
    for seed, instance in instances(30):
        parts = [first(instance, gpu) for gpu in range(len(instance.gpus))]
        for name in RULES:
            stepper = Stepper(instance, rule(name).compiled)
            stepper.reset(parts)
            while stepper.advance():
                stepper.dispatch()
            expected = simulate(instance, rule(name), Keeps(parts))
            assert stepper.schedule() == expected, (seed, name)
            assert stepper.metrics().energy_uj == measure(instance, expected).energy_uj


def test_decisions_from_outside_do_the_same_as_in_the_reference() -> None:
    """Random legal repartitions and dispatches give equal states at every instant, and equal schedules."""
    for seed, instance in instances(60):
        draw = random.Random(seed)
        parts = [first(instance, gpu) for gpu in range(len(instance.gpus))]
        stepper, reference = Stepper(instance, rule("edf_fs").compiled), Simulator(instance)
        stepper.reset(parts)
        reference.start(Keeps(parts))
        for _ in range(60):
            more = _advance(reference)
            assert _advance(stepper) == more
            if more is not True:
                break
            state = reference.state
            assert (stepper.now_ms, stepper.cause) == (state.now_ms, state.cause)
            assert stepper.waiting == sorted(state.waiting)
            assert stepper.slices == [(item.gpu, item.placement) for item in state.slices]
            _repartition_both(draw, instance, stepper, reference)
            runs = _random_runs(draw, state)
            reference.apply_dispatch(DispatchDecision(runs))
            stepper.dispatch(
                {(state.slices[p].gpu, state.slices[p].placement): job for p, job in runs.items()}
            )
            assert stepper.running == {(s.gpu, s.placement): j for j, s in state.running.items()}
        assert stepper.schedule() == reference.schedule()


@pytest.mark.parametrize("name", COMPILED)
def test_rules_go_on_after_repartitions_and_restores_as_in_the_reference(name: str) -> None:
    """Random legal repartitions, and detours undone by restoring, also in mid-change: the same runs each time."""
    for seed, instance in instances(6):
        draw = random.Random(f"{name} {seed}")
        parts = [first(instance, gpu) for gpu in range(len(instance.gpus))]
        stepper = Stepper(instance, rule(name).compiled, seed=seed)
        reference, dispatcher = Simulator(instance, seed=seed), rule(name)
        stepper.reset(parts)
        reference.start(Keeps(parts))
        for _ in range(200):
            more = _advance(reference)
            assert _advance(stepper) == more
            if more is not True:
                break
            _repartition_both(draw, instance, stepper, reference)
            if draw.random() < 0.2:
                _detour(draw, instance, stepper)
            reference.decide_dispatch(dispatcher)
            stepper.dispatch()
            running = reference.state.running
            assert stepper.running == {(s.gpu, s.placement): j for j, s in running.items()}
        assert stepper.schedule() == reference.schedule()


def _detour(draw, instance, stepper) -> None:
    """Play on, change partitions, look ahead; then go back."""
    kept = stepper.snapshot()
    for _ in range(3):
        stepper.dispatch()
        if _advance(stepper) is not True:
            break
        target = draw.choice(instance.catalogue(0).partitions)
        if stepper.may_repartition(0, target):
            stepper.repartition(0, target)
        stepper.look_ahead(0, instance.catalogue(0).partitions)
    stepper.restore(kept)


def _advance(run) -> bool | str:
    """Go on; that everything idles and nothing will come is an answer, too."""
    try:
        return run.advance()
    except InfeasiblePartitionError as error:
        return str(error)


def _repartition_both(draw, instance, stepper, reference) -> None:
    for gpu in range(len(instance.gpus)):
        target = draw.choice(instance.catalogue(gpu).partitions)
        allowed = reference.state.why_not_repartition(gpu, target) is None
        assert stepper.may_repartition(gpu, target) == allowed
        if allowed and draw.random() < 0.3:
            reference.apply_partition(gpu, PartitionDecision(target))
            stepper.repartition(gpu, target)


def _random_runs(draw, state) -> dict[int, int]:
    runs = {
        position: place.job
        for position, place in enumerate(state.slices)
        if place.job is not None and (not state.may_stop(place.job) or draw.random() < 0.7)
    }
    rest = [job for job in (*sorted(state.waiting), *state.running) if job not in runs.values()]
    draw.shuffle(rest)
    for position, place in enumerate(state.slices):
        fitting = [job for job in rest if state.rate(job, place)]
        if position not in runs and fitting and draw.random() < 0.8:
            runs[position] = fitting[0]
            rest.remove(fitting[0])
    return runs


def test_snapshot_goes_back() -> None:
    """What follows a restored snapshot is what followed it the first time; the log goes back, too."""
    instance = small_instance(8, jobs=40)
    stepper = Stepper(instance, rule("edf_ss_restricted").compiled)
    stepper.reset([instance.catalogue(0)[3]])
    snapshots = []
    while stepper.advance():
        snapshots.append(stepper.snapshot())
        stepper.dispatch()
    expected = stepper.schedule()
    for snapshot in snapshots[::7]:
        stepper.restore(snapshot)
        stepper.dispatch()
        while stepper.advance():
            stepper.dispatch()
        assert stepper.schedule() == expected


def test_look_ahead_is_what_the_reference_would_play() -> None:
    """Forecasts equal the reference played on from a copy, with no more arrivals, under each partition."""
    compared = 0
    for seed, instance in instances(25):
        parts = [first(instance, gpu) for gpu in range(len(instance.gpus))]
        stepper, reference = Stepper(instance, rule("edf_fs").compiled), Simulator(instance)
        stepper.reset(parts)
        reference.start(Keeps(parts))
        candidates = list(instance.catalogue(0).partitions)
        while reference.advance():
            assert stepper.advance()
            before = stepper.snapshot().state
            forecasts = {f.partition: f for f in stepper.look_ahead(0, candidates)}
            assert np.array_equal(stepper.snapshot().state, before)
            for target in candidates[:: max(1, len(candidates) // 3)]:
                played = _played_on(reference, target)
                assert (target in forecasts) == (played is not None), (seed, target)
                if played is not None:
                    compared += 1
                    found = forecasts[target]
                    assert (found.weighted_tardiness_ms, found.end_ms) == played, (seed, target)
            reference.decide_dispatch(rule("edf_fs"))
            stepper.dispatch()
    assert compared > 500


def _played_on(simulator: Simulator, target) -> tuple[int, int] | None:
    state = simulator.state
    if target != state.partitions[0] and state.why_not_repartition(0, target):
        return None
    fork = copy.deepcopy(simulator)
    state = fork.state
    if any(
        not any(fork.instance.rate(fork.instance.jobs[j], m, p) for m, p in _places(fork, target))
        for j in (*state.waiting, *state.running)
    ):
        return None
    active = [*state.waiting, *state.running]
    fork._arrivals = fork._arrivals[: fork._next_arrival]
    state.unfinished = len(active)
    fork.apply_partition(0, PartitionDecision(target))
    fork.decide_dispatch(rule("edf_fs"))
    while fork.advance():
        fork.decide_dispatch(rule("edf_fs"))
    jobs = fork.instance.jobs
    late = sum(jobs[j].weight * max(0, state.end_ms[j] - jobs[j].due_ms) for j in active)
    return late, state.now_ms


def _places(simulator: Simulator, target) -> list:
    parts = [target, *simulator.state.partitions[1:]]
    return [
        (m, p)
        for m, part in zip(simulator.instance.gpus, parts, strict=True)
        for p in part.profiles
    ]


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ({(0, Placement(0, "2g.10gb")): 0}, "no slice 2g.10gb@0"),
        ({(0, Placement(0, "4g.20gb")): 1}, "job index 1 is not active"),
        (
            {(0, Placement(0, "4g.20gb")): 0, (0, Placement(4, "3g.20gb")): 0},
            "one job is put on two",
        ),
    ],
)
def test_illegal_dispatch_is_refused(runs, words: str) -> None:
    """A slice that is not there, a job that has not come, a job twice: each is named."""
    instance = make_instance(make_job(0), make_job(1, release=5))
    stepper = Stepper(instance, rule("edf_fs").compiled)
    stepper.reset([P_43])
    assert stepper.advance()
    with pytest.raises(PolicyError, match=words):
        stepper.dispatch(runs)


def test_illegal_repartition_is_refused() -> None:
    """During a change, and to MIG off, a GPU cannot change; the present partition changes nothing."""
    stepper = Stepper(make_instance(make_job(0), mig_off=True), rule("edf_fs").compiled)
    stepper.reset([P_43])
    assert stepper.advance()
    stepper.repartition(0, P_43)
    with pytest.raises(PolicyError, match="cannot change to off"):
        stepper.repartition(0, OFF_PARTITION)
    stepper.repartition(0, P_7)
    with pytest.raises(PolicyError, match="cannot change"):
        stepper.repartition(0, P_43)


# --- many runs -------------------------------------------------------------------------------


class Follows:
    """Takes one action per arrival or completion at which the GPU is not changing, and notes what it sees."""

    def __init__(self, draw: random.Random, start: int, causes=ARRIVALS_AND_COMPLETIONS) -> None:
        self.draw, self.start, self.causes = draw, start, causes
        self.actions: list[int] = []
        self.seen: list[tuple[int, ...]] = []

    def partition(self, state, gpu):
        """Return the catalogue's partition of a drawn number, where the change is allowed."""
        catalogue = state.instance.catalogue(gpu)
        if state.partitions[gpu] is None:
            return PartitionDecision(catalogue[self.start])
        if not state.cause & self.causes:
            return PartitionDecision()
        self.seen.append(_sight(state))
        number = self.draw.choice((0, 0, self.draw.randint(1, len(catalogue))))
        self.actions.append(number)
        if number and not state.why_not_repartition(gpu, catalogue[number]):
            return PartitionDecision(catalogue[number])
        return PartitionDecision()


def _sight(state) -> tuple[int, ...]:
    active = sorted([*state.waiting, *state.running], key=state.due_key)[:3]
    jobs = [(j, state.instance.jobs[j].due_ms, j in state.running) for j in active]
    flat = [int(item) for job in jobs for item in job]
    number = state.instance.catalogue(0).number(state.partitions[0])
    return (state.now_ms, len(state.waiting) + len(state.running), number, *flat)


def test_many_runs_do_what_one_partition_rule_does_in_each() -> None:
    """The vector sees, at every decision of every run, what a partition rule sees, and ends alike."""
    chosen = [(s, i) for s, i in instances(200) if len(i.gpus) == 1 and runs_anywhere(i)][:60]
    for name in ("edf_ss_restricted", "edf_fs", "llf"):
        rules, schedules = [], []
        for seed, instance in chosen:
            rules.append(Follows(random.Random(seed), 1))
            schedules.append(simulate(instance, rule(name), rules[-1]))
        many = VectorStepper([i for _, i in chosen], rule(name).compiled, threads=2)
        many.reset(1)
        step = 0
        while len(many.waiting_for_decision):
            for e in many.waiting_for_decision:
                assert _seen_by(many, e) == rules[e].seen[step], (name, chosen[e][0])
            many.step(np.array([r.actions[step] if step < len(r.actions) else 0 for r in rules]))
            step += 1
        assert step == max(len(r.actions) for r in rules)
        for e, (_, instance) in enumerate(chosen):
            figures = measure(instance, schedules[e])
            row = many.seen[e]
            assert row[vector.SEE_ENERGY] == figures.energy_uj - instance.idle_energy_uj
            assert (
                row[vector.SEE_DONE_LATE] == row[vector.SEE_LATE] == figures.weighted_tardiness_ms
            )
            assert row[vector.SEE_REPARTITIONS] == figures.repartitions


def _seen_by(many: VectorStepper, e: int) -> tuple[int, ...]:
    row = many.seen[e]
    first_job = vector.SEEN + many.gpus
    flat = []
    for k in range(3):
        job = row[first_job + k * vector.JOB_SEEN :][: vector.JOB_SEEN]
        if job[0] >= 0:
            flat += [
                int(job[vector.JOB_INDEX]),
                int(job[vector.JOB_DUE]),
                int(job[vector.JOB_RUNS]),
            ]
    head = (vector.SEE_NOW, vector.SEE_ACTIVE, vector.SEEN)
    return (*(int(row[i]) for i in head), *flat)


def test_mean_durations_by_hand() -> None:
    """A job of 28 s on 1g: 7 s on 4g and 28/3 s on 3g, mean 8167 ms; over the catalogue's five profiles likewise."""
    instance = make_instance(make_job(0, ms=28_000))
    many = VectorStepper([instance], rule("edf_fs").compiled)
    row = many.reset(2)[0]
    job = row[vector.SEEN + 1 :]
    assert job[vector.JOB_MEAN] == -(-(7_000 + 9_334) // 2)
    on_each = [28_000, 14_000, 9_334, 7_000, 4_000]
    assert job[vector.JOB_TYPE_MEAN] == -(-sum(on_each) // 5)


def test_snapshot_of_many_and_new_beginnings() -> None:
    """Runs go back together to a snapshot, and single runs begin anew while others stay."""
    runs = [small_instance(seed, jobs=12) for seed in range(4)]
    many = VectorStepper(runs, rule("edf_ss").compiled)
    many.reset(3)
    for _ in range(3):
        many.step(np.full(4, 6))
    kept = many.snapshot()
    before = many.seen.copy()
    many.step(np.full(4, 2))
    assert not np.array_equal(many.seen, before)
    many.restore(kept)
    assert np.array_equal(many.seen, before)
    many.reset(3, chosen=np.array([1]))
    assert many.seen[1, vector.SEE_NOW] == runs[1].jobs[0].release_ms
    assert np.array_equal(many.seen[[0, 2, 3]], before[[0, 2, 3]])


def test_vectors_of_unlike_clusters_are_refused() -> None:
    """Runs of one vector have equally many GPUs."""
    runs = [small_instance(1), small_instance(1, gpus=2)]
    with pytest.raises(NotApplicableError, match="equally many GPUs"):
        VectorStepper(runs, rule("fifo").compiled)


def test_causes_choose_the_instants() -> None:
    """Asked at ends of repartition too, a run stops there."""
    instance = make_instance(make_job(0, ms=280_000), make_job(1, release=100_000))
    many = VectorStepper(
        [instance], rule("edf_fs").compiled, causes=Cause.REPARTITION_END | Cause.ARRIVAL
    )
    many.reset(2)
    many.step(np.array([1]))
    assert many.seen[0, vector.SEE_NOW] == 4_000
    assert many.seen[0, vector.SEE_STATUS] == at.DECIDE


def test_partitions_and_jobs_that_are_not_there_are_refused() -> None:
    """A wrong number of first partitions, a foreign partition, MIG off where it is not allowed, GPU 5, job 99."""
    instance = small_instance(1, jobs=5, gpus=2)
    stepper = Stepper(instance, rule("edf_fs").compiled)
    known, foreign = instance.catalogue(0)[1], Partition((Placement(0, "1g.5gb"),))
    for parts in ([known], [foreign, known], [OFF_PARTITION, OFF_PARTITION]):
        with pytest.raises(PolicyError, match="as many first partitions|not in the catalogue"):
            stepper.reset(parts)
    stepper.reset([known, known])
    stepper.advance()
    with pytest.raises(PolicyError, match="not in the catalogue of GPU 1"):
        stepper.look_ahead(1, [foreign])
    with pytest.raises(PolicyError, match="there is no GPU 5"):
        stepper.repartition(5, known)
    with pytest.raises(PolicyError, match="job index 99 is not active"):
        stepper.dispatch({(0, known.placements[0]): 99})


def test_numbers_beyond_the_catalogue_change_nothing_but_raise() -> None:
    """Compiled code checks no bounds, so a vector does: partitions 13 and -1, MIG off, run 2, 61 jobs seen."""
    runs = [small_instance(1), small_instance(2)]
    many = VectorStepper(runs, rule("edf_fs").compiled)
    for number in (13, 0, -1):
        with pytest.raises(PolicyError, match=f"run 0, GPU 0: no partition number {number}"):
            many.reset(number)
    many.reset(3)
    before = many.seen.copy()
    with pytest.raises(PolicyError, match="run 1, GPU 0: no partition number 13; .* 1 to 12"):
        many.step(np.array([2, 13]))
    assert np.array_equal(many.seen, before)
    with pytest.raises(PolicyError, match="runs are 0 to 1"):
        many.reset(3, chosen=np.array([2]))
    with pytest.raises(NotApplicableError, match="from 0 to 60, not 61"):
        VectorStepper(runs, rule("edf_fs").compiled, jobs_seen=61)
    with pytest.raises(NotApplicableError, match="at least one run"):
        VectorStepper([], rule("edf_fs").compiled)
