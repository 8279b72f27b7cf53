"""The builder: times and their rounding, rates from classes and speeds, one error per mistake."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from factories import A100 as HAND_A100
from factories import P_7, P_43
from migopt.errors import InputError, UnknownNameError
from migopt.gpus import default_power, load_gpu
from migopt.io import InstanceBuilder, instance_from_dict, instance_to_dict
from migopt.model import Instance, PowerCurve, Preemption, Repartition
from migopt.placement import build_catalogue

A100, A30 = "A100-40GB", "A30-24GB"


@pytest.fixture
def builder():
    """One A100 under paper-12."""
    return InstanceBuilder("demo", gpu=A100, catalogue="paper-12")


def only_job(builder, **fields):
    """Return the one job that ``fields`` describe."""
    return builder.job(**({"due_ms": 1, "full_gpu_ms": 1} | fields)).build().jobs[0]


def fault(call, *args, **fields):
    """Return the one error of a call as (place, message)."""
    with pytest.raises(InputError) as caught:
        call(*args, **fields)
    return caught.value.where, caught.value.message


def test_a_whole_instance_in_a_few_calls(builder):
    """Everything that is set arrives, and the calls can be chained."""
    made = (
        builder.weight_a("1/1000")
        .mig_off()
        .preemption("cost", resume_overhead_ms=5)
        .repartition("slices", tau_ms=7)
        .horizon(horizon_min=60)
        .origin(author="me")
        .origin(seed=1)
        .job(release_min=1, due_min=30, full_gpu_min=10, elasticity="capped-2g", kind="training")
        .job(due_ms=5, full_gpu_ms=2, weight=3, memory_bytes=5, preemptible=False, name="x")
    )
    assert repr(made) == "InstanceBuilder('demo': 1 GPU, 2 jobs)"
    instance = made.build()
    assert isinstance(instance, Instance)
    assert (instance.name, instance.weight_a, instance.mig_off) == ("demo", Fraction(1, 1000), True)
    assert instance.preemption == Preemption("cost", 5)
    assert instance.repartition == Repartition("slices", 7)
    assert instance.horizon_ms == 3_600_000
    assert instance.origin == {"author": "me", "seed": 1}
    assert instance.power[A100] == default_power(A100)
    assert instance.catalogues[A100] == build_catalogue("paper-12", load_gpu(A100))
    first, second = instance.jobs
    assert (first.id, first.release_ms, first.due_ms) == (0, 60_000, 1_800_000)
    assert first.work == 10 * 60_000 * 1_000_000
    assert (first.kind, first.elasticity) == ("training", "capped-2g")
    assert first.rate(A100, "1g.5gb") == 500_000
    assert (second.id, second.release_ms, second.due_ms, second.weight) == (1, 0, 5, 3)
    assert (second.memory_bytes, second.preemptible, second.name) == (5, False, "x")
    assert (second.elasticity, second.rate(A100, "off")) == ("linear", 1_060_000)


def test_what_is_not_set_is_as_in_an_instance():
    """Defaults are those of Instance: a day, a = 0, free preemption, tau of 4 s."""
    instance = InstanceBuilder(gpu=A30).job(due_ms=1, full_gpu_ms=1).build()
    plain = Instance("", instance.gpus, instance.jobs, instance.catalogues)
    assert instance == plain
    assert instance.catalogues[A30].name == "maximal"


@pytest.mark.parametrize(
    ("minutes", "release", "due"),
    [
        (0.1, 6_000, 6_000),
        ("1/3", 20_000, 20_000),
        (Fraction(1, 7), 8_571, 8_572),
        (Decimal("0.0000083"), 0, 1),
        (Fraction(1, 120_000), 1, 1),
        (np.float64(0.7), 42_000, 42_000),
        (np.int64(2), 120_000, 120_000),
        (1e-9, 0, 1),
    ],
)
def test_minutes_are_rounded_half_up_and_due_dates_up(builder, minutes, release, due):
    """A decimal fraction means what it says; half a millisecond is a whole one."""
    job = only_job(builder, release_min=minutes, due_ms=None, due_min=minutes)
    assert (job.release_ms, job.due_ms) == (release, due)
    assert type(job.release_ms) is int


def test_work_is_rounded_once(builder):
    """Work comes from the exact duration, not from whole milliseconds, and is at least 1."""
    job = only_job(builder, full_gpu_ms=None, full_gpu_min=Fraction(1, 7))
    assert job.work == 8_571_428_571
    assert only_job(builder, full_gpu_ms=Fraction(5, 2)).work
    assert builder.build().jobs[1].work == 2_500_000
    assert builder.job(due_ms=1, full_gpu_ms="1e-9").build().jobs[2].work == 1


def test_rates_on_several_gpu_models():
    """A class is relative to each GPU's own full profile, times the speed of that GPU."""
    builder = InstanceBuilder(gpu=A100, count=2).add_gpu(A30, speed="1/2", catalogue="all")
    job = only_job(builder, elasticity="linear")
    assert job.rate(A100, "7g.40gb") == 1_000_000
    assert job.rate(A30, "4g.24gb") == 500_000
    assert job.rate(A30, "1g.6gb") == 125_000
    assert [model.key for model in builder.build().gpus] == [A100, A100, A30]
    other = builder.job(due_ms=1, full_gpu_ms=1, speeds={A30: {"2g.12gb": 0.5}}).build().jobs[1]
    assert {key: dict(rates) for key, rates in other.rates.items()} == {A30: {"2g.12gb": 250_000}}
    place, text = fault(builder.job, due_ms=1, full_gpu_ms=1, speeds={"1g.6gb": 1})
    assert (place, text) == (
        "jobs[2].speeds",
        "give one mapping of speeds per GPU model: A100-40GB, A30-24GB",
    )


def test_speeds_by_profile(builder):
    """Listed speeds become rates; profiles left out or at 0 cannot run the job; the label is free."""
    job = only_job(builder, speeds={"3g.20gb": 0.4286, "2g.10gb": 0, "off": 1}, elasticity="mine")
    assert dict(job.rates[A100]) == {"3g.20gb": 428_600, "off": 1_000_000}
    assert job.elasticity == "mine"


def test_jobs_of_one_class_share_their_rates(builder):
    """Equal rates are one object, whether from a class or from speeds."""
    for _ in range(2):
        builder.job(due_ms=1, full_gpu_ms=1, elasticity="log:2")
        builder.job(due_ms=1, full_gpu_ms=1, speeds={"7g.40gb": 1})
    jobs = builder.build().jobs
    assert jobs[0].rates is jobs[2].rates
    assert jobs[1].rates is jobs[3].rates


def test_ids_are_the_next_free_ones_or_given(builder):
    """A given id is kept, and numbering goes on after the highest."""
    for number in (None, 7, None, np.int64(3)):
        builder.job(due_ms=1, full_gpu_ms=1, job_id=number)
    assert [job.id for job in builder.build().jobs] == [0, 3, 7, 8]
    builder.job(due_ms=1, full_gpu_ms=1, job_id=3)
    assert fault(builder.build) == ("jobs[4].id", "3 is also the id of jobs[3]")


def test_catalogues_and_power_by_hand():
    """Partitions as text or objects, a power curve or none at all."""
    curve = PowerCurve((1,) * 8)
    builder = InstanceBuilder(gpu=A100, catalogue=["7g.40gb@0", P_43], power=curve)
    instance = builder.job(due_ms=1, full_gpu_ms=1).build()
    assert instance.catalogues[A100].partitions == (P_7, P_43)
    assert instance.power[A100] is curve
    assert instance_from_dict(instance_to_dict(instance)) == instance
    place, text = fault(InstanceBuilder, gpu=A100, catalogue=["7g.40gb"])
    assert place == f'catalogue["{A100}"][0]'
    assert "write profile@start" in text
    assert fault(InstanceBuilder, gpu=A100, power=[1])[0] == "power"
    none = InstanceBuilder(gpu=A100, power=None).weight_a(1).job(due_ms=1, full_gpu_ms=1)
    assert fault(none.build)[0] == f'power["{A100}"]'


def test_a_gpu_of_ones_own():
    """A GpuModel can be given instead of a name."""
    builder = InstanceBuilder(gpu=HAND_A100, catalogue=["7g.40gb@0"])
    assert only_job(builder).rate(A100, "7g.40gb") == 1_000_000
    assert builder.build().gpus == (HAND_A100,)


@pytest.mark.parametrize(
    ("fields", "where", "message"),
    [
        ({"due_ms": None}, "jobs[0]", "give due_min or due_ms"),
        ({"due_min": 1}, "jobs[0]", "give due_min or due_ms, not both"),
        ({"release_min": 1, "release_ms": 1}, "jobs[0]", "give release_min or release_ms, not both"),
        ({"full_gpu_ms": None}, "jobs[0]", "give full_gpu_min or full_gpu_ms"),
        ({"release_min": "soon"}, "jobs[0].release_min", 'must be a finite number, not "soon"'),
        ({"release_min": float("nan")}, "jobs[0].release_min", "must be a finite number, not NaN"),
        ({"release_min": "1/0"}, "jobs[0].release_min", 'must be a finite number, not "1/0"'),
        ({"release_min": True}, "jobs[0].release_min", "must be a number, not true"),
        ({"release_ms": 1.5}, "jobs[0].release_ms", "must be a whole number, not 1.5"),
        ({"release_ms": True}, "jobs[0].release_ms", "must be a whole number, not true"),
        ({"full_gpu_ms": [1]}, "jobs[0].full_gpu_ms", "must be a number, not a list"),
        ({"elasticity": "liner"}, "jobs[0].elasticity", "unknown elasticity class 'liner'; nearest"),
        ({"speeds": {"3g": 1}}, "jobs[0].speeds[\"3g\"]", "unknown profile of A100-40GB '3g'"),
        ({"speeds": {"3g.20gb": "x"}}, 'jobs[0].speeds["3g.20gb"]', "must be a finite number"),
        ({"speeds": {"A30-24GB": {}}}, 'jobs[0].speeds["A30-24GB"]', "unknown GPU of this instance"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_job_is_one_error_at_once(builder, fields, where, message):
    """Times given twice or not at all, and names and numbers that are none, are named when given."""
    place, text = fault(builder.job, **({"due_ms": 1, "full_gpu_ms": 1} | fields))
    assert place == where
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("fields", "where", "message"),
    [
        ({"full_gpu_ms": 0}, "jobs[0].work", "at least 1, not 0"),
        ({"full_gpu_min": -1, "full_gpu_ms": None}, "jobs[0].work", "at least 1, not 0"),
        ({"release_ms": -5}, "jobs[0].release_ms", "at least 0, not -5"),
        ({"weight": 1.5}, "jobs[0].weight", "a whole number, not 1.5"),
        ({"speeds": {"3g.20gb": 10**8}}, f'jobs[0].rates["{A100}"]["3g.20gb"]', "at most"),
        ({"speeds": {}}, "jobs[0].rates", "no rate is above 0"),
        ({"speeds": {"1g.5gb+me": 1}}, "jobs[0].rates", "fits nowhere in catalogue paper-12"),
        ({"memory_bytes": 10**12}, "jobs[0].memory_bytes", "fits nowhere in catalogue paper-12"),
    ],
)
def test_build_checks_like_a_file(builder, fields, where, message):
    """What makes an instance file unusable makes ``build`` fail, at the same place."""
    builder.job(**({"due_ms": 1, "full_gpu_ms": 1} | fields))
    place, text = fault(builder.build)
    assert place == where
    assert message in text


def test_mistakes_about_gpus(builder):
    """Unknown, repeated, late and uncountable GPUs are refused."""
    with pytest.raises(UnknownNameError, match="A100-40GB"):
        InstanceBuilder(gpu="A100-41GB")
    with pytest.raises(UnknownNameError, match="paper-12") as caught:
        InstanceBuilder(gpu=A100, catalogue="paper-13")
    assert caught.value.where == "catalogue"
    assert fault(builder.add_gpu, A100)[0] == "gpu"
    assert fault(builder.add_gpu, A30, 0)[0] == "count"
    assert fault(builder.add_gpu, A30, True)[0] == "count"
    assert fault(builder.add_gpu, A30, speed=0)[0] == "speed"
    builder.job(due_ms=1, full_gpu_ms=1)
    assert fault(builder.add_gpu, A30)[1].startswith("add GPUs before jobs")
    assert fault(InstanceBuilder().job, due_ms=1, full_gpu_ms=1)[0] == "jobs[0]"
    assert fault(InstanceBuilder().build)[0] == "gpus"


def test_mistakes_about_the_rules(builder):
    """Weight, horizon and modes that cannot be are named."""
    assert fault(builder.weight_a, "half")[0] == "weight_a"
    assert fault(builder.horizon) == ("", "give horizon_min or horizon_ms")
    assert fault(builder.horizon, horizon_ms=1.5)[0] == "horizon_ms"
    assert fault(builder.weight_a(-1).build)[0] == "weight_a"
    assert fault(builder.weight_a(0.1).preemption("sometimes").build)[0] == "preemption.mode"


def test_a_float_weight_means_its_decimal(builder):
    """0.1 is one tenth, not the nearest binary fraction."""
    assert builder.weight_a(0.1).build().weight_a == Fraction(1, 10)
