"""Records: one JSON line each, read back equal; best bounds count proven claims only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migopt.errors import InputError
from migopt.records import Record, RecordWriter, Status, best_bounds, read_records
from record_factory import make_record


def write(path: Path, *records: Record) -> None:
    """Append records to a file."""
    writer = RecordWriter(path)
    for record in records:
        writer.append(record)
    writer.close()


def test_a_record_comes_back_equal(tmp_path: Path) -> None:
    """Writing and reading changes nothing, settings and tuples included."""
    record = make_record("edf", upper=0.1 + 0.2, violations=("rule 1: at 0 ms",))
    failed = make_record("edf", 2, status=Status.FAILED, settings=None, traceback="line\nline")
    write(tmp_path / "records.jsonl", record, failed)
    log = read_records(tmp_path / "records.jsonl")
    assert list(log.records.values()) == [record, failed]
    assert log.truncated == ""


@given(st.floats(allow_nan=False, allow_infinity=False), st.text())
def test_numbers_and_text_survive(value: float, text: str) -> None:
    """Any finite float keeps every bit and any text every character, in one line."""
    line = make_record("edf", lower=value, reason=text).to_line()
    assert line.count(b"\n") == 1
    data = json.loads(line)
    assert data["lower"] == value
    assert data["reason"] == text


def test_not_a_number_is_refused() -> None:
    """JSON has no NaN, so a record with one is an error where it is made."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        make_record("edf", upper=float("nan")).to_line()


@pytest.mark.parametrize("cut", [1, 5, 100, -2])
def test_a_cut_line_is_set_apart(cut: int, tmp_path: Path) -> None:
    """Wherever a crash cut the last line, the lines before it are read."""
    path = tmp_path / "records.jsonl"
    whole = make_record("edf", upper=1.0)
    write(path, whole)
    size = path.stat().st_size
    with path.open("ab") as stream:
        stream.write(make_record("edf", 2).to_line()[:cut])
    log = read_records(path)
    assert list(log.records.values()) == [whole]
    assert log.truncated != ""
    assert log.good_bytes == size


def test_unknown_and_wrong_fields_are_refused(tmp_path: Path) -> None:
    """A line with another field, type or version is an error that names line and field."""
    path = tmp_path / "records.jsonl"
    good = make_record("edf", upper=1.0).to_line()
    for old, new, message in (
        (b'"upper":', b'"uper":', "line 1 uper"),
        (b'"seed":1', b'"seed":"one"', "line 1 seed"),
        (b'"version":1', b'"version":99', "line 1: record version 99"),
        (b'"tau_ms":4000', b'"tau_ms":{}', "line 1 settings.tau_ms"),
    ):
        assert old in good
        path.write_bytes(good.replace(old, new))
        with pytest.raises(InputError, match=message):
            read_records(path)
    with pytest.raises(InputError, match="cannot read records"):
        read_records(tmp_path / "absent.jsonl")


def test_best_bounds_count_proven_claims_only() -> None:
    """A published or heuristic figure is never a lower bound, however high it is."""
    records = [
        make_record("rule", upper=5.0, lower=4.9),
        make_record("better", upper=4.5),
        make_record("published", lower=4.4, claims="published"),
        make_record("closed_form", lower=3.0, claims="bound"),
        make_record("cpsat", upper=4.5, lower=3.5, claims="exact"),
        make_record("rule", 2, upper=9.0),
    ]
    best = best_bounds(records)
    upper, lower = best["digest-day-1"]
    assert upper is not None
    assert lower is not None
    assert (upper.entry, lower.entry, lower.lower) == ("better", "cpsat", 3.5)
    assert best["digest-day-2"][1] is None
    assert best_bounds([replace(records[0], digest="")]) == {}


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    """Two processes cannot mix their lines in one file."""
    first = RecordWriter(tmp_path / "records.jsonl")
    with pytest.raises(InputError, match="another benchmark"):
        RecordWriter(tmp_path / "records.jsonl")
    first.close()
