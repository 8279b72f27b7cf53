"""One digest per problem: equal for every spelling, different for every difference that matters."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from io_cases import A30, A100, WATTS, changed, document, documents
from migopt.gpus import load_gpu
from migopt.io import InstanceBuilder, instance_digest, instance_from_dict
from migopt.placement import build_catalogue


def digest(made):
    """Return the digest of a document."""
    return instance_digest(instance_from_dict(made))


STORED = digest(document())


def listed(name, key):
    """Return a named catalogue as a list."""
    return [[str(p) for p in part] for part in build_catalogue(name, load_gpu(key))]


def spellings():
    """Yield (what is spelt otherwise, document)."""
    yield "catalogue listed", changed(["catalogue", A100], listed("paper-12", A100))
    yield "placements in another order", changed(["catalogue", A30, 0], ["2g.12gb@2", "2g.12gb@0"])
    yield "product name", changed(["gpus", 0, "model"], "NVIDIA A100-SXM4-40GB")
    made = document()
    made["gpus"] = [{"model": A100}, {"model": A30}, {"model": A30, "count": 1}]
    yield "GPUs counted one by one", made
    made = document()
    made["jobs"][0]["rates"] = made.pop("rates")["linear"]
    yield "rates inline", made
    made = document()
    made["rates"]["again"] = made["jobs"][1]["rates"]
    made["jobs"][1]["rates"] = "again"
    made["rates"]["unused"] = {A100: {"7g.40gb": 5}}
    yield "rates named", made
    made = document()
    del made["jobs"][1]["rates"][A100]["1g.5gb"]
    yield "a rate of 0 left out", made
    yield "rates of a card that is not there", changed(["jobs", 1, "rates", "H20-96GB"], {"off": 5})
    made = document()
    made["jobs"].reverse()
    yield "jobs in another order", made
    yield "weight reduced", changed(["weight_a"], "1/100000")
    yield "name", changed(["name"], "x")
    yield "job name", changed(["jobs", 1, "name"], "x")
    yield "origin", changed(["origin"], {"y": 1})
    yield "source", changed(["power", A100, "source"], "x")
    yield "weight as by default", changed(["jobs", 0, "weight"], 1)


@pytest.mark.parametrize(("what", "made"), list(spellings()), ids=[w for w, _ in spellings()])
def test_equal_problems_have_equal_digests(what, made):
    """However a problem is spelt, its digest is the same."""
    assert digest(made) == STORED, what


CHANGES = [
    (["gpus", 1, "count"], 1),
    (["gpus"], [{"model": A30, "count": 2}, {"model": A100}]),
    (["catalogue", A100], "paper-17"),
    (["catalogue", A30], [["4g.24gb@0"], ["2g.12gb@0", "2g.12gb@2"]]),
    (["mig_off"], False),
    (["preemption", "mode"], "none"),
    (["preemption", "resume_overhead_ms"], 501),
    (["repartition", "scope"], "gpu"),
    (["repartition", "tau_ms"], 4001),
    (["power", A100, "busy_mw"], [*WATTS[:7], 248501]),
    (["power", A30, "off_busy_mw"], 1),
    (["weight_a"], "1/100001"),
    (["horizon_ms"], 3600001),
    (["rates", "linear", A30, "4g.24gb"], 400001),
    (["jobs", 1, "id"], 5),
    (["jobs", 1, "release_ms"], 1),
    (["jobs", 1, "due_ms"], 1),
    (["jobs", 1, "work"], 8),
    (["jobs", 1, "rates"], "linear"),
    (["jobs", 1, "weight"], 2),
    (["jobs", 1, "memory_bytes"], 0),
    (["jobs", 1, "preemptible"], True),
    (["jobs", 1, "kind"], "inference"),
    (["jobs", 1, "elasticity"], "linear"),
]


def test_different_problems_have_different_digests():
    """Every number and label of a problem is part of its digest."""
    digests = {digest(changed(path, value)) for path, value in CHANGES}
    assert STORED not in digests
    assert len(digests) == len(CHANGES)


def test_what_cannot_matter_does_not():
    """An overhead without mode cost, and tau where no repartition is allowed, play no part."""
    for mode in ("free", "none"):
        made = [changed(["preemption"], {"mode": mode, "resume_overhead_ms": n}) for n in (0, 9)]
        assert digest(made[0]) == digest(made[1]) != STORED
    made = [changed(["repartition"], {"scope": "never", "tau_ms": n}) for n in (0, 9)]
    assert digest(made[0]) == digest(made[1]) != STORED


def test_the_digest_is_the_stored_one():
    """The form of the digest does not change by accident: digests are stored beside results."""
    instance = InstanceBuilder("x", gpu=A30, catalogue=["4g.24gb@0"], power=None)
    instance.job(release_ms=0, due_ms=5000, full_gpu_ms=1000, speeds={"4g.24gb": 1})
    digest = "e985b3bfc4deaf49e367321950367e16c26ad207f4a93c937843a6212215818c"
    assert instance_digest(instance.build()) == digest


def test_a_corrected_gpu_table_is_another_problem():
    """Memory of a profile in use is part of the digest, that of another profile is not."""
    instance = instance_from_dict(document())
    model = instance.gpus[0]

    def with_memory(name):
        profiles = tuple(
            dataclasses.replace(p, memory_bytes=1) if p.name == name else p for p in model.profiles
        )
        other = dataclasses.replace(model, profiles=profiles)
        return instance.replace(gpus=(other, *instance.gpus[1:]))

    assert instance_digest(with_memory("3g.20gb")) != STORED
    assert instance_digest(with_memory("1g.5gb+me")) == STORED


def test_memory_of_the_full_profile_counts_where_mig_may_be_off():
    """It decides what fits with MIG off, also where no partition of the catalogue holds the profile."""

    def digests(mig_off):
        builder = InstanceBuilder("x", gpu=A30, catalogue=["2g.12gb@0"], power=None)
        builder.job(release_ms=0, due_ms=5000, full_gpu_ms=1000, speeds={"2g.12gb": 1})
        instance = builder.build().replace(mig_off=mig_off)
        model = instance.gpus[0]
        full = model.full_profile
        smaller = tuple(
            dataclasses.replace(p, memory_bytes=1) if p is full else p for p in model.profiles
        )
        other = instance.replace(gpus=(dataclasses.replace(model, profiles=smaller),))
        return instance_digest(instance), instance_digest(other)

    with_off, without = digests(True), digests(False)
    assert with_off[0] != with_off[1]
    assert without[0] == without[1]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(documents(), st.randoms())
def test_the_order_of_keys_and_jobs_never_matters(made, random):
    """A file shuffled at every level is the same problem."""

    def shuffled(part):
        if isinstance(part, dict):
            keys = list(part)
            random.shuffle(keys)
            return {key: shuffled(part[key]) for key in keys}
        return part

    other = shuffled(made)
    other["jobs"] = [shuffled(job) for job in made["jobs"]]
    random.shuffle(other["jobs"])
    assert digest(other) == digest(made)
