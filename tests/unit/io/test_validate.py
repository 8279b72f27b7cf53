"""What makes an instance unusable, for files and for instances made in Python."""

from __future__ import annotations

import dataclasses
import re
import time
from fractions import Fraction

import pytest

from factories import A100 as HAND_A100
from factories import P_7, P_43, make_instance, make_job
from io_cases import A30, A100, changed, document
from migopt.errors import InputError
from migopt.gpus import load_gpu
from migopt.io import InstanceBuilder, instance_from_dict, validate_instance
from migopt.model import (
    OFF_PARTITION,
    Catalogue,
    FrozenMap,
    Partition,
    PowerCurve,
    Preemption,
    Repartition,
)
from migopt.testing.cases import conformance_cases

ONE = f'catalogue["{A100}"]'


def fault(check, made):
    """Return the one error as (place, message)."""
    with pytest.raises(InputError) as caught:
        check(made)
    return caught.value.where, caught.value.message


FILE_FAULTS = [
    # partitions that the GPU does not accept
    (["catalogue", A30, 0], ["2g.12gb@0", "1g.6gb@1"], f'catalogue["{A30}"][0]', "memory unit 1"),
    (["catalogue", A30, 0], ["2g.12gb@1"], f'catalogue["{A30}"][0]', "may start at 0, 2"),
    (["catalogue", A30, 0], ["1g.6gb@1"] * 2, f'catalogue["{A30}"][0]', "1g.6gb@1 is listed twice"),
    (["catalogue", A30, 0], [], f'catalogue["{A30}"][0]', "the partition is empty"),
    (["catalogue", A30, 0], ["4g.24gb@0"], f'catalogue["{A30}"][1]', "4g.24gb@0 is listed twice"),
    (["catalogue", A30, 0], ["off@0"], f'catalogue["{A30}"][0]', "off is in no catalogue"),
    (["catalogue", A30], [], f'catalogue["{A30}"]', "must not be empty"),
    (["catalogue"], {A100: "all"}, f'catalogue["{A30}"]', "is missing"),
    # jobs
    (["jobs", 1, "id"], 4, "jobs[1].id", "4 is also the id of jobs.0"),
    (["jobs", 1, "memory_bytes"], 2**40, "jobs[1].memory_bytes", "fits nowhere.*its largest slice"),
    (["jobs", 1, "rates"], {}, "jobs[1].rates", "fits nowhere.*no rate is above 0"),
    (["jobs", 1, "rates"], {A100: {"1g.5gb+me": 5}}, "jobs[1].rates", "only on 1g.5gb\\+me"),
    (["jobs", 1, "rates"], {A30: {"1g.6gb": 5}}, "jobs[1].rates", "only on 1g.6gb"),
    (["jobs", 1, "rates"], {"H20-96GB": {"off": 5}}, "jobs[1].rates", "fits nowhere"),
    # power
    (["power"], {}, f'power["{A100}"]', "weight_a is above 0, so energy needs a power curve"),
    (["power", A30, "busy_mw"], [1, 2], f'power["{A30}"].busy_mw', "5 values, .* not 2"),
    (["power", A30, "busy_mw"], [], f'power["{A30}"].busy_mw', "5 values"),
    (["power", A30, "off_busy_mw"], None, f'power["{A30}"].off_busy_mw', "mig_off is true"),
    # totals
    (["jobs", 1], {"id": 1, "release_ms": 0, "due_ms": 0, "work": 2**62, "rates": {A100: {"off": 1}}},
     "jobs", "energy may reach"),
    (["gpus", 1, "count"], 100_000, "gpus", "at most 100000, not 100001"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "where", "message"), FILE_FAULTS)
def test_a_file_that_makes_no_sense_is_one_error_with_its_place(path, value, where, message):
    """Each impossible partition, job, power curve or total of a file is reported at its place."""
    place, text = fault(instance_from_dict, changed(path, value))
    assert place == where
    assert re.search(message, text), text


def test_mig_off_decides_whether_off_counts():
    """A job that runs only with MIG off fits where that is allowed, and else the error says so."""
    made = changed(["jobs", 1, "rates"], {A100: {"off": 1000}})
    assert instance_from_dict(made).jobs[0].rate(A100, "off") == 1000
    made["mig_off"] = False
    place, text = fault(instance_from_dict, made)
    assert place == "jobs[1].rates"
    assert "it can run only on off, and mig_off is false" in text


def test_what_is_allowed_on_purpose():
    """Due before release, weight 0, tau 0, no job, rates of other real cards, no power at a = 0."""
    made = changed(["jobs", 0, "weight"], 0)
    made["jobs"][0] |= {"release_ms": 10, "due_ms": 0}
    made["jobs"][1]["rates"]["H20-96GB"] = {"1g.12gb": 5}
    made["repartition"]["tau_ms"] = 0
    assert len(instance_from_dict(made).jobs) == 2
    made |= {"jobs": [], "power": {}, "weight_a": "0"}
    assert instance_from_dict(made).jobs == ()


def test_rates_of_a_card_that_is_not_in_the_instance_must_be_real():
    """Its key and its profiles are checked all the same."""
    made = changed(["rates", "linear", "H20-96GB"], {"1g.10gb": 5})
    place, text = fault(instance_from_dict, made)
    assert place == 'rates.linear["H20-96GB"]["1g.10gb"]'
    assert "nearest: 1g.12gb" in text


def test_every_conformance_case_is_valid():
    """The instances that solvers are tested with keep the rules of instances."""
    cases = list(conformance_cases())
    assert len(cases) > 20
    for instance in cases:
        validate_instance(instance)


# ---------------------------------------------------------------- made in Python


def instance_with(**changes):
    """Return a hand-made instance of two jobs with some attributes changed."""
    return make_instance(make_job(0), make_job(1)).replace(**changes)


def catalogue(*partitions):
    """Return catalogues of one A100."""
    return FrozenMap({A100: Catalogue("x", A100, partitions)})


def power(*watts, off=1):
    """Return the power of one A100."""
    return FrozenMap({A100: PowerCurve(tuple(watts), off)})


EIGHT = (1,) * 8


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"gpus": ()}, "gpus", "must not be empty"),
        ({"catalogues": FrozenMap({})}, ONE, "is missing"),
        ({"catalogues": catalogue(OFF_PARTITION)}, f"{ONE}[0]", "off is in no catalogue"),
        ({"catalogues": catalogue(P_7, P_43, P_7)}, f"{ONE}[2]", "7g.40gb@0 is listed twice"),
        ({"catalogues": catalogue(Partition.parse("3g.20gb@0,2g.10gb@2"))}, f"{ONE}[0]", "unit 2"),
        ({"catalogues": catalogue(Partition.parse("3g.21gb@0"))}, f"{ONE}[0]", "nearest: 3g.20gb"),
        ({"power": FrozenMap({})}, f'power["{A100}"]', "is missing"),
        ({"power": FrozenMap({"A30": PowerCurve(EIGHT)})}, "power.A30", "GPU of this instance"),
        ({"power": power(1, 2)}, f'power["{A100}"].busy_mw', "8 values"),
        ({"power": power(*EIGHT[:7], 1.5)}, f'power["{A100}"].busy_mw[7]', "not 1.5"),
        ({"power": power(*EIGHT, off=-1)}, f'power["{A100}"].off_busy_mw', "at least 0"),
        ({"power": power(*EIGHT, off=None), "mig_off": True}, f'power["{A100}"].off_busy_mw', "mig"),
        ({"preemption": Preemption("sometimes")}, "preemption.mode", "unknown mode"),
        ({"preemption": Preemption("cost", 1.0)}, "preemption.resume_overhead_ms", "not 1.0"),
        ({"repartition": Repartition("gpus")}, "repartition.scope", "nearest: gpu"),
        ({"repartition": Repartition("gpu", -1)}, "repartition.tau_ms", "at least 0"),
        ({"weight_a": 0.5}, "weight_a", "must be a Fraction, not 0.5"),
        ({"weight_a": Fraction(-1, 2)}, "weight_a", "at least 0"),
        ({"weight_a": Fraction(10**19)}, "weight_a", "at most"),
        ({"horizon_ms": 0}, "horizon_ms", "at least 1"),
        ({"horizon_ms": float("nan")}, "horizon_ms", "not NaN"),
        ({"mig_off": 1}, "mig_off", "true or false, not 1"),
        ({"kind": "gang"}, "kind", "unknown kind"),
        ({"name": 5}, "name", "must be text"),
    ],
)  # fmt: skip
def test_an_instance_made_in_python_is_held_to_the_same(changes, where, message):
    """Wrong types and values of a built instance name the place they would have in a file."""
    place, text = fault(validate_instance, instance_with(**changes))
    assert place == where
    assert re.search(message, text), text


@pytest.mark.parametrize(
    ("fields", "where", "message"),
    [
        ({"release": -1}, "jobs[1].release_ms", "at least 0"),
        ({"due": 1.5}, "jobs[1].due_ms", "not 1.5"),
        ({"work": True}, "jobs[1].work", "not true"),
        ({"weight": -1}, "jobs[1].weight", "at least 0"),
        ({"memory_bytes": 10**12}, "jobs[1].memory_bytes", "fits nowhere"),
        ({"preemptible": 0}, "jobs[1].preemptible", "true or false"),
        ({"kind": 5}, "jobs[1].kind", "must be text"),
        ({"name": "x" * 201}, "jobs[1].name", "at most 200"),
        ({"speed": {"3g.20gb": 0.5}}, f'jobs[1].rates["{A100}"]["3g.20gb"]', "not 0.5"),
        ({"speed": {"1g.10gb": 5}}, "jobs[1].rates", "only on 1g.10gb"),
    ],
)
def test_a_job_made_in_python_is_held_to_the_same(fields, where, message):
    """Wrong types and values of a job name its number and the attribute."""
    place, text = fault(validate_instance, make_instance(make_job(0), make_job(1, **fields)))
    assert place == where
    assert re.search(message, text), text


def test_two_models_of_one_key_are_refused():
    """A GPU key stands for one model within an instance."""
    other = dataclasses.replace(HAND_A100, compute_slices=6)
    place, _ = fault(validate_instance, instance_with(gpus=(HAND_A100, HAND_A100, other)))
    assert place == "gpus[2]"


def test_duplicate_ids_name_both_jobs():
    """The error stands at the second and names the first."""
    place, text = fault(validate_instance, make_instance(make_job(5), make_job(6), make_job(5)))
    assert place == "jobs[1].id"
    assert "also the id of jobs[0]" in text


# ---------------------------------------------------------------- 64 bits

TOP = 2**63 - 1
#: An A100 of 1 mW idle and 2 mW busy.
FLAT = FrozenMap({A100: PowerCurve((1, *[2] * 7), 2)})


def lone(*jobs, **fields):
    """Return an instance of 7g alone, 1 mW idle and 2 mW busy, H = 1 ms."""
    given = {"catalogues": catalogue(P_7), "power": FLAT, "horizon": 1} | fields
    return make_instance(*jobs, **given)


def slow(number, ms, **fields):
    """Return a job that takes ``ms`` on 7g, at rate 1."""
    return make_job(number, work=ms, speed={"7g.40gb": 1}, **({"due": 0} | fields))


def test_energy_just_fits_or_not():
    """H x 1 mW + (2 - 1) mW x duration: 2^63 - 1 uJ pass, one more does not."""
    rest = TOP - 1 - 2**62
    validate_instance(lone(slow(0, 2**62, weight=0), slow(1, rest, weight=0)))
    place, text = fault(
        validate_instance, lone(slow(0, 2**62, weight=0), slow(1, rest, weight=0), horizon=2)
    )
    assert place == "jobs"
    assert f"total energy may reach {TOP + 1} uJ" in text


def test_idle_energy_alone_names_the_horizon():
    """Ten GPUs of 10^6 W idle for 31 years are too much whatever the jobs are."""
    place, text = fault(
        validate_instance,
        lone(gpus=(HAND_A100,) * 10, horizon=10**12, power=power(*[10**9] * 8)),
    )
    assert place == "horizon_ms"
    assert f"idle energy is {10 * 10**21} uJ" in text


def test_tardiness_just_fits_or_not():
    """Two jobs of duration d and weight w end by 2d: 2 x w x 2d ms decide, less what is not late."""
    jobs = [slow(number, 2**32, weight=2**29) for number in range(2)]
    validate_instance(lone(jobs[0], slow(1, 2**32, weight=2**29, due=1), a=0))
    place, text = fault(validate_instance, lone(*jobs, a=0))
    assert place == "jobs"
    assert f"tardiness may reach {2**63} ms" in text


def test_a_schedule_that_never_ends_within_64_bits():
    """Jobs without weight are held to the end of the plain schedule."""
    jobs = [slow(number, 2**62, weight=0) for number in range(3)]
    place, text = fault(validate_instance, lone(*jobs, a=0, power=FrozenMap({})))
    assert place == "jobs"
    assert "the last job may end at" in text


def test_more_gpus_share_the_load():
    """What is too much for one GPU is not for a hundred, which end sooner."""
    jobs = [slow(number, 2**40, weight=3) for number in range(2000)]
    assert fault(validate_instance, lone(*jobs, a=0))[0] == "jobs"
    validate_instance(lone(*jobs, a=0, gpus=(HAND_A100,) * 100))


# ---------------------------------------------------------------- speed


def test_a_hundred_thousand_jobs_are_read_in_seconds():
    """100,000 jobs take less than 5 s of processor time from dictionary to instance."""
    made = document()
    made["jobs"] = [
        made["jobs"][0] | {"id": number, "work": number + 1} for number in range(100_000)
    ]
    start = time.process_time()
    instance = instance_from_dict(made)
    assert time.process_time() - start < 5
    assert len(instance.jobs) == 100_000


def test_a_real_table_is_used():
    """The hand-made card of the tests is not mistaken for the shipped one."""
    assert instance_from_dict(document()).gpus[0] == load_gpu(A100)


def test_a_job_too_large_for_the_whole_card_is_refused_with_mig_off_too():
    """MIG off gives a job the card's memory, no more: one error with the bytes needed and there."""
    builder = InstanceBuilder("x", gpu="A100-40GB", catalogue="paper-12").mig_off()
    builder.job(release_min=0, due_min=9, full_gpu_min=1, memory_bytes=10**12)
    with pytest.raises(InputError, match=r"needs 1000000000000 bytes, its largest slice has \d+") as caught:
        builder.build()
    assert caught.value.where == "jobs[0].memory_bytes"
