"""Instance and schedule files: what is read, what is written, and the one error for each fault."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import OFF, P_43, P_223, change, make_instance, make_job, make_schedule, seg
from io_cases import A30, A100, REMOVE, changed, document, documents
from migopt.errors import InputError, UnknownNameError
from migopt.io import (
    InstanceBuilder,
    instance_from_dict,
    instance_to_dict,
    read_instance,
    read_schedule,
    schedule_from_dict,
    schedule_to_dict,
    write_instance,
    write_schedule,
)
from migopt.model import Partition, Placement, Preemption, Repartition


def fault(made, read=instance_from_dict):
    """Return the one error of a document as (place, message)."""
    with pytest.raises(InputError) as caught:
        read(made)
    return caught.value.where, caught.value.message


# ---------------------------------------------------------------- reading


def test_every_key_arrives_where_it_belongs():
    """The whole of a hand-written file is found in the instance, with names resolved."""
    instance = instance_from_dict(document())
    assert [model.key for model in instance.gpus] == [A100, A30, A30]
    assert len(instance.catalogues[A100]) == 12
    assert instance.catalogues[A30][2] == Partition.parse("4g.24gb@0")
    assert instance.preemption == Preemption("cost", 500)
    assert instance.repartition == Repartition("slices", 4000)
    assert instance.weight_a == Fraction(1, 100_000)
    assert instance.power[A100].busy_mw[3] == 205_300
    assert instance.power[A30].off_busy_mw == 165_000
    assert (instance.horizon_ms, instance.mig_off, instance.name) == (3_600_000, True, "two cards")
    tuning, linear = instance.jobs
    assert (tuning.id, tuning.release_ms, tuning.due_ms, tuning.work) == (2, 60_000, 1_000, 7)
    assert (tuning.weight, tuning.memory_bytes, tuning.preemptible) == (3, 2**34, False)
    assert (tuning.kind, tuning.elasticity, tuning.name) == ("training", "measured", "fine-tuning")
    assert tuning.rate(A100, "3g.20gb") == 428_571
    assert linear.rate(A30, "4g.24gb") == 400_000
    assert instance.origin == {"made_by": ["hand", 1.5, None]}


def test_what_may_be_left_out_has_its_documented_default():
    """A file of the required keys alone is read with the defaults of the format."""
    made = document()
    for key in ("name", "mig_off", "preemption", "repartition", "power", "origin"):
        del made[key]
    made["weight_a"] = "0"
    instance = instance_from_dict(made)
    assert instance.preemption == Preemption("free", 0)
    assert instance.repartition == Repartition("gpu", 4000)
    assert (instance.name, instance.mig_off, dict(instance.power)) == ("", False, {})
    assert instance.origin == {}
    assert instance.jobs[1].weight == 1
    assert instance.jobs[1].preemptible


def test_product_names_and_shared_tables():
    """A product name stands for its key, and jobs of one rate table share one object."""
    made = changed(["gpus", 0, "model"], "A100-SXM4-40GB")
    made["jobs"].append(made["jobs"][0] | {"id": 9})
    made["jobs"].append(made["jobs"][1] | {"id": 10})
    instance = instance_from_dict(made)
    assert instance.gpus[0].key == A100
    by_id = instance.job_by_id
    assert by_id[4].rates is by_id[9].rates
    assert by_id[2].rates is by_id[10].rates


FORM_FAULTS = [
    # unknown keys, with the nearest one or the unit that is missing
    (["horizon"], 1, "horizon", 'unknown key "horizon".*write horizon_ms \\(milliseconds\\)'),
    (["jobz"], [], "jobz", 'unknown key "jobz"; nearest: jobs'),
    (["repartition", "tau"], 4, "repartition.tau", "write tau_ms"),
    (["repartition", "tau_s"], 4, "repartition.tau_s", "write tau_ms"),
    (["jobs", 0, "due"], 4, "jobs[0].due", "write due_ms"),
    (["jobs", 1, "memory"], 4, "jobs[1].memory", "write memory_bytes \\(bytes\\)"),
    (["jobs", 1, "preemptable"], True, "jobs[1].preemptable", "nearest: preemptible"),
    (["gpus", 1, "number"], 4, "gpus[1].number", "known: model, count"),
    (["power", A30, "watts"], 4, f'power["{A30}"].watts', "known: busy_mw, off_busy_mw, source"),
    # missing
    (["jobs", 1, "work"], REMOVE, "jobs[1].work", "is missing"),
    (["weight_a"], REMOVE, "weight_a", "is missing"),
    (["gpus"], REMOVE, "gpus", "is missing"),
    (["format"], REMOVE, "format", 'is missing; it must be "migopt-instance"'),
    (["version"], REMOVE, "version", "is missing"),
    (["kind"], REMOVE, "kind", "is missing"),
    # another kind of file
    (["format"], "migopt-schedule", "format", "a schedule file, not an instance file"),
    (["format"], "json", "format", 'must be "migopt-instance", not "json"'),
    (["version"], 2, "version", "version 2 is unknown; this migopt reads version 1"),
    (["version"], True, "version", "version true is unknown"),
    (["kind"], "provision", "kind", 'problem kind "provision" is unknown; known: "schedule"'),
    # wrong types: no bool for a number, no number for text, no float for a whole number
    (["jobs", 0, "id"], True, "jobs[0].id", "a whole number, not true"),
    (["jobs", 0, "work"], 1.0, "jobs[0].work", "a whole number, not 1.0"),
    (["jobs", 0, "work"], "7", "jobs[0].work", 'a whole number, not "7"'),
    (["jobs", 0, "due_ms"], None, "jobs[0].due_ms", "a whole number, not null"),
    (["jobs", 0, "due_ms"], float("nan"), "jobs[0].due_ms", "a whole number, not NaN"),
    (["jobs", 0, "due_ms"], float("inf"), "jobs[0].due_ms", "a whole number, not Infinity"),
    (["jobs", 0, "preemptible"], 1, "jobs[0].preemptible", "true or false, not 1"),
    (["jobs", 0, "kind"], 1, "jobs[0].kind", "must be text, not 1"),
    (["jobs", 0, "rates"], 1, "jobs[0].rates", "name of a rate table or an object"),
    (["jobs", 0], [], "jobs[0]", "must be an object, not a list"),
    (["jobs"], {}, "jobs", "must be a list, not an object"),
    (["weight_a"], 0.5, "weight_a", "must be a fraction P/Q of whole numbers.*in quotes, not 0.5"),
    (["weight_a"], "0.5", "weight_a", "must be a fraction P/Q"),
    (["weight_a"], "-1/2", "weight_a", "must be a fraction P/Q"),
    (["weight_a"], "1/0", "weight_a", "divides by zero"),
    (["catalogue"], 12, "catalogue", "a catalogue's name or an object"),
    (["catalogue", A30], 12, f'catalogue["{A30}"]', "a catalogue's name or a list of partitions"),
    (["catalogue", A30, 0, 1], "2g.12gb", f'catalogue["{A30}"][0][1]', "profile@start"),
    (["preemption", "mode"], "fre", "preemption.mode", '"free", "cost" or "none", not "fre"'),
    (["repartition", "scope"], "GPU", "repartition.scope", '"gpu", "slices" or "never"'),
    (["origin", "x"], float("nan"), "origin.x", "a finite number, not NaN"),
    (["origin", "made_by", 0], "\ud800", "origin.made_by[0]", "surrogate"),
    (["name"], "\ud800", "name", "surrogate"),
    (["name"], "x" * 201, "name", "at most 200 characters"),
    # out of range
    (["jobs", 0, "release_ms"], -1, "jobs[0].release_ms", "at least 0, not -1"),
    (["jobs", 0, "work"], 0, "jobs[0].work", "at least 1, not 0"),
    (["jobs", 0, "work"], 2**62 + 1, "jobs[0].work", "at most 4611686018427387904"),
    (["jobs", 0, "due_ms"], 10**12 + 1, "jobs[0].due_ms", "at most 1000000000000"),
    (["jobs", 0, "due_ms"], 10**40, "jobs[0].due_ms", "not a number of more than 30 digits"),
    (["jobs", 0, "id"], -1, "jobs[0].id", "at least 0"),
    (["horizon_ms"], 0, "horizon_ms", "at least 1"),
    (["gpus", 0, "count"], 0, "gpus[0].count", "at least 1"),
    (["gpus"], [], "gpus", "must not be empty"),
    (["power", A30, "busy_mw", 2], -5, f'power["{A30}"].busy_mw[2]', "at least 0"),
    (
        ["rates", "linear", A30, "2g.12gb"],
        2**40 + 1,
        f'rates.linear["{A30}"]["2g.12gb"]',
        "at most",
    ),
    (["jobs", 1, "rates", A100, "1g.5gb"], -1, f'jobs[1].rates["{A100}"]["1g.5gb"]', "at least 0"),
]


@pytest.mark.parametrize(("path", "value", "where", "message"), FORM_FAULTS)
def test_a_fault_of_form_is_one_error_with_its_place(path, value, where, message):
    """Each wrong key, type or number is reported alone, at its place, with what would be valid."""
    place, text = fault(changed(path, value))
    assert place == where
    assert re.search(message, text), text


NAME_FAULTS = [
    (["gpus", 0, "model"], "A100-41GB", "gpus[0].model", "A100-40GB"),
    (["catalogue", A100], "paper-13", f'catalogue["{A100}"]', "paper-12"),
    (["catalogue"], "paper-13", "catalogue", "paper-12"),
    (["catalogue", "A100"], "all", "catalogue.A100", "A100-40GB"),
    (["power", "A30"], {"busy_mw": []}, "power.A30", "A30-24GB"),
    (["rates", "linear", "A30"], {}, "rates.linear.A30", "A30-24GB"),
    (["rates", "linear", A30, "2g.10gb"], 5, f'rates.linear["{A30}"]["2g.10gb"]', "2g.12gb"),
    (["jobs", 1, "rates", A100, "of"], 5, f'jobs[1].rates["{A100}"].of', "off"),
    (["jobs", 0, "rates"], "linaer", "jobs[0].rates", "linear"),
    (["catalogue", A30, 1, 0], "4g.20gb@0", f'catalogue["{A30}"][1]', "4g.24gb"),
]


@pytest.mark.parametrize(("path", "value", "where", "nearest"), NAME_FAULTS)
def test_an_unknown_name_is_answered_with_the_nearest(path, value, where, nearest):
    """Unknown GPUs, catalogues, profiles and rate tables name their place and a valid one."""
    with pytest.raises(UnknownNameError) as caught:
        instance_from_dict(changed(path, value))
    assert caught.value.where == where
    assert nearest in caught.value.message.split("nearest:")[1]


def test_a_catalogue_that_a_gpu_cannot_have_says_why():
    """A name that exists, but not for this GPU, gives the reason instead of near names."""
    place, text = fault(changed(["catalogue"], "paper-12"))
    assert place == "catalogue"
    assert "A30-24GB" in text
    assert "needs a 3g" in text


def test_a_misspelt_required_key_is_the_error_and_not_the_missing_one():
    """Where one spelling is missing and another unknown, the one that stands there is named."""
    made = changed(["jobs", 0, "due_ms"], REMOVE)
    made["jobs"][0]["due_min"] = 10
    assert fault(made)[0] == "jobs[0].due_min"


def test_the_first_of_many_faults_is_reported():
    """Of two faults the one that comes first in the file is the error."""
    made = changed(["jobs", 1, "work"], -1)
    made["jobs"][0]["nmae"] = "x"
    assert fault(made)[0] == "jobs[0].nmae"


@pytest.mark.parametrize("made", [None, [], "x", 1])
def test_a_document_that_is_no_object(made):
    """Other JSON than an object is refused."""
    assert "must be a JSON object" in fault(made)[1]


# ---------------------------------------------------------------- bytes


def stored(tmp_path, data, name="bad.json"):
    """Write bytes and return the error of reading them."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_instance(path)
    assert caught.value.source == str(path)
    assert str(caught.value).startswith(f"{path}: ")
    return caught.value


BYTES = json.dumps(document()).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b'{\n "a": }', "is not JSON: Expecting value, line 2, column 7"),
        (b'{"a": 1,}', "is not JSON: .*line 1, column"),
        (BYTES[:-1], "is not JSON: .*line 1, column"),
        (BYTES + b"{}", "is not JSON: Extra data"),
        (b'{"a": "\xff"}', "is not UTF-8: byte 7 is 0xff"),
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8"),
        (gzip.compress(BYTES, mtime=0)[:-9], "is not a whole gzip file"),
        (gzip.compress(BYTES, mtime=0)[:12], "is not a whole gzip file"),
        (gzip.compress(BYTES, mtime=0) + b"x", "is not a whole gzip file"),
        (gzip.compress(BYTES, mtime=0)[:40] + b"\xff" * 40, "is not a whole gzip file"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b"[1" + b"0" * 5000 + b"]", "digits"),
    ],
)
def test_bytes_that_are_no_document(tmp_path, data, message):
    """Broken JSON, gzip and UTF-8 are one error that names the file, and the line where there is one."""
    error = stored(tmp_path, data)
    assert re.search(message, error.message), error.message


def test_a_key_that_occurs_twice(tmp_path):
    """JSON lets the last one win; here it is an error at its place."""
    text = BYTES.decode().replace('"work": 7', '"work": 7, "due_ms": 5')
    error = stored(tmp_path, text.encode())
    assert (error.where, error.message) == ("jobs[1].due_ms", "the key occurs twice")
    twice = '{"a": {"b": 1, "b": 2}, "a": 3}'
    assert stored(tmp_path, twice.encode()).where == "a"


def test_deep_origin_is_refused(tmp_path):
    """The part that is free in form may not be nested so deep that it cannot be written again."""
    deep = "[" * 60 + "]" * 60
    error = stored(tmp_path, BYTES.replace(b'["hand", 1.5, null]', deep.encode()))
    assert error.where == "origin.made_by[0]"


def test_a_byte_order_mark_is_allowed(tmp_path):
    """Editors that start UTF-8 with a mark make no trouble."""
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf" + BYTES)
    assert read_instance(tmp_path / "a.json") == instance_from_dict(document())


def test_files_that_cannot_be_opened(tmp_path):
    """A missing file, a folder and an impossible name are one error each."""
    for path in (tmp_path / "none.json", tmp_path, "a\0b"):
        with pytest.raises(InputError, match="cannot be read"):
            read_instance(path)
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_instance(instance_from_dict(document()), tmp_path / "none" / "a.json")


# ---------------------------------------------------------------- writing


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_what_is_read_is_written_and_read_again(made):
    """Reading, writing and reading again gives the same instance, from dictionaries and from text."""
    instance = instance_from_dict(made)
    written = instance_to_dict(instance)
    assert instance_from_dict(written) == instance
    again = instance_from_dict(json.loads(json.dumps(written)))
    assert again == instance
    assert again.origin == instance.origin
    assert [job.name for job in again.jobs] == [job.name for job in instance.jobs]
    assert instance_to_dict(again) == written


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_the_same_instance_gives_the_same_bytes(tmp_path, name):
    """Writing twice, at different times, gives equal files; .gz is gzip and the other is text."""
    instance = instance_from_dict(document())
    write_instance(instance, tmp_path / name)
    first = (tmp_path / name).read_bytes()
    write_instance(read_instance(tmp_path / name), tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    assert first.startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert read_instance(tmp_path / name) == instance


def test_written_files_have_one_job_per_line(tmp_path):
    """A changed job changes one line."""
    write_instance(instance_from_dict(document()), tmp_path / "a.json")
    lines = (tmp_path / "a.json").read_text(encoding="utf-8").splitlines()
    assert sum('"release_ms"' in line for line in lines) == 2


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """When the last step fails, the file is as it was and nothing else lies beside it."""
    path = tmp_path / "a.json"
    path.write_text("old")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_instance(instance_from_dict(document()), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_permissions_are_kept(tmp_path):
    """A link still points to its file after writing, and new files get the usual permissions."""
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    write_instance(instance_from_dict(document()), link)
    assert link.is_symlink()
    (tmp_path / "plain").write_text("")
    usual = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert stat.S_IMODE(target.stat().st_mode) == usual


def test_a_device_is_written_to_and_not_replaced():
    """/dev/null stays a device."""
    write_instance(instance_from_dict(document()), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_an_instance_that_no_file_can_describe_is_refused():
    """A GPU model that differs from its table, and an origin that is no JSON, cannot be written."""
    with pytest.raises(InputError, match="not A100-40GB as migopt's table has it") as caught:
        instance_to_dict(make_instance(make_job(0)))
    assert caught.value.where == "gpus[0]"
    builder = InstanceBuilder(gpu=A30).job(due_ms=1, full_gpu_ms=1).origin(of={1, 2})
    with pytest.raises(InputError, match="something JSON knows, not set") as caught:
        instance_to_dict(builder.build())
    assert caught.value.where == "origin.of"


def test_equal_labels_of_different_tables_get_different_names():
    """Rate tables are named by the label of their jobs; where that is taken, a number is added."""
    builder = InstanceBuilder(gpu=A30)
    for speed, label in ((0.5, "x"), (0.25, "x"), (0.125, "x-2"), (0.75, "")):
        builder.job(due_ms=1, full_gpu_ms=1, speeds={"1g.6gb": speed}, elasticity=label or None)
    instance = builder.build()
    written = instance_to_dict(instance)
    assert sorted(written["rates"]) == ["rates", "x", "x-2", "x-2-2"]
    assert instance_from_dict(written) == instance


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_broken_file_is_refused_or_read(data):
    """Random edits of the bytes and of the values give an instance or an InputError, nothing else."""
    from migopt.io import _document

    made = bytearray(BYTES)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(made) - 1)))
        edit = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if edit == "flip" and made:
            made[at] = data.draw(st.integers(0, 255))
        elif edit == "cut":
            del made[at : at + data.draw(st.integers(1, 30))]
        else:
            made[at:at] = data.draw(
                st.sampled_from([b"{", b"}", b'"', b",", b"9", b"NaN", b"-", b"e5"])
            )
    try:
        instance = instance_from_dict(_document.parse(bytes(made)))
    except InputError:
        return
    assert instance_from_dict(instance_to_dict(instance)) == instance


ODD = [
    *(None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**30, 10**5000, "", "x", "\ud800"),
    *([], {}, [[]], {"a": 1}, {"\ud800": 1}, "4g.20gb@0", "2/0", A100, REMOVE),
]


def places(part, path=()):
    """Yield the path of everything in a document."""
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in items:
        yield [*path, key]
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@pytest.mark.parametrize("path", list(places(document())), ids=str)
def test_any_odd_value_anywhere_is_refused_or_read(path):
    """Each value of the file replaced by each odd one: an instance or an InputError, nothing else."""
    for value in ODD:
        try:
            instance = instance_from_dict(changed(path, value))
        except InputError as error:
            str(error).encode()  # a terminal can print it
        else:
            assert instance_from_dict(instance_to_dict(instance)) == instance


# ---------------------------------------------------------------- schedules


@pytest.fixture
def schedule():
    """A schedule with every kind of entry."""
    return make_schedule(
        seg(4, "4g.20gb@0", 0, 1000),
        seg(2, "off", 5, 10, gpu=1),
        change(P_43, P_223, 1000, 5000),
        initial=(P_43, OFF, Partition.parse("4g.24gb@0")),
    )


def test_schedules_come_back(tmp_path, schedule):
    """A written schedule is read as it was, gzipped or not, and its origin with it."""
    instance = instance_from_dict(document())
    for name in ("s.json", "s.json.gz"):
        write_schedule(schedule, tmp_path / name, instance)
        assert read_schedule(tmp_path / name, instance) == schedule


def test_illegal_schedules_are_read_for_the_checker(schedule):
    """Unknown GPUs, jobs, profiles and negative times are matters of the checker, not of the file."""
    instance = instance_from_dict(document())
    made = schedule_to_dict(schedule, instance)
    made["segments"].append(
        {"job": -7, "gpu": 99, "placement": "9g.1gb@77", "start_ms": -5, "end_ms": -9}
    )
    made["initial"] = []
    read = schedule_from_dict(made, instance)
    assert read.segments[0].placement == Placement(77, "9g.1gb")
    assert schedule_from_dict(schedule_to_dict(read, instance), instance) == read


def test_a_schedule_of_another_problem_is_refused(tmp_path, schedule):
    """The digest of the problem in the file must be that of the instance, where it is given."""
    instance = instance_from_dict(document())
    write_schedule(schedule, tmp_path / "s.json", instance)
    other = instance.replace(horizon_ms=1)
    with pytest.raises(InputError, match="of another problem") as caught:
        read_schedule(tmp_path / "s.json", other)
    assert (caught.value.where, caught.value.source) == (
        "instance_digest",
        str(tmp_path / "s.json"),
    )
    made = schedule_to_dict(schedule, instance)
    del made["instance_digest"]
    assert schedule_from_dict(made, other) == schedule


@pytest.mark.parametrize(
    ("path", "value", "where", "message"),
    [
        (
            ["segments", 0, "placement"],
            "4g.20gb",
            "segments[0].placement",
            "must be off or a place",
        ),
        (["segments", 0, "start"], 1, "segments[0].start", "write start_ms"),
        (["segments", 0, "end_ms"], 1.5, "segments[0].end_ms", "a whole number, not 1.5"),
        (["segments", 0, "end_ms"], 2**63, "segments[0].end_ms", "at most 9223372036854775807"),
        (["segments", 0, "gpu"], REMOVE, "segments[0].gpu", "is missing"),
        (["initial", 1], "on", "initial[1]", 'must be "off", not "on"'),
        (["initial", 0], 5, "initial[0]", 'a list of placements or "off", not 5'),
        (["initial", 0, 1], "x", "initial[0][1]", "profile@start"),
        (["reconfigurations", 0, "new"], None, "reconfigurations[0].new", "a list of placements"),
        (["reconfigurations", 0, "tau_ms"], 1, "reconfigurations[0].tau_ms", "unknown key"),
        (["instance_digest"], "abc", "instance_digest", "64 hexadecimal digits"),
        (["format"], "migopt-instance", "format", "an instance file, not a schedule file"),
        (["segments"], REMOVE, "segments", "is missing"),
        (["origin"], {"x": float("inf")}, "origin.x", "a finite number, not Infinity"),
    ],
)
def test_a_fault_of_a_schedule_file(schedule, path, value, where, message):
    """Each fault of form is one error at its place."""
    instance = instance_from_dict(document())
    made = schedule_to_dict(schedule, instance)
    part = made
    for step in path[:-1]:
        part = part[step]
    if value is REMOVE:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    place, text = fault(made, lambda it: schedule_from_dict(it, instance))
    assert place == where
    assert re.search(message, text), text
