"""The common rules of reading, on every format that is a table: text oddities and empty results."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from migopt.io import instance_to_dict
from migopt.io.traces import NothingLeftError, import_trace

LIST = (
    "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n"
    "2017-10-09 06:13:03,2951.0,4,11804.0,c\n2017-10-09 07:02:30,9,1,9,b\n"
)
TASKS = (
    "4f05,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n"
    "aaaa,ps,1.0,Terminated,100.0,200.0,600.0,10.0,,\n"
    "5c1e,worker,2.0,Terminated,1739170.0,1739290.0,600.0,29.3,100.0,T4\n"
)
LOG = (
    "; UnixStartTime: 1272639895\n1 100 5 600 4 -1 -1 8 7200 -1 1 3 1 -1 1 -1 -1 -1\n"
    "3 100 -1 0 4 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\n4 90 5 60 4 -1 -1 8 7200 -1 1 3 1 -1 1 -1 -1 5\n"
)
SACCT = (
    "JobID|State|Submit|Start|End|AllocTRES\n"
    "1|COMPLETED|2024-04-01T10:00:00|2024-04-01T10:00:05|2024-04-01T10:10:05|gres/gpu=1\n"
    "2|CANCELLED by 1001|2024-04-01T10:00:00|None|2024-04-01T10:03:00|\n"
    "3|FAILED|2024-04-01T09:00:00|2024-04-01T10:00:05|2024-04-01T10:10:05|gres/gpu=1\n"
)
FORMATS: list[tuple[str, str, dict[str, Any]]] = [
    ("philly-list", LIST, {}),
    ("pai", TASKS, {}),
    ("swf", LOG, {"one_gpu_each": True}),
    ("sacct", SACCT, {}),
]


@pytest.mark.parametrize(("form", "text", "options"), FORMATS)
def test_text_oddities_change_nothing(
    tmp_path: Path, form: str, text: str, options: dict[str, Any]
) -> None:
    """BOM, CR LF, no last line end, gzip: the same account and the same instance, byte for byte."""
    plain = text.encode()
    odd = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n").rstrip()
    seen = []
    for number, data in enumerate((plain, plain.rstrip(), odd, gzip.compress(odd))):
        folder = tmp_path / str(number)
        folder.mkdir()
        # The name of the file is part of the origin.
        path = folder / "trace.gz"
        path.write_bytes(data if data[:2] == b"\x1f\x8b" else gzip.compress(data))
        report = import_trace(form, path, **options)
        assert (report.rows, report.accepted, sum(report.dropped.values())) == (3, 2, 1)
        seen.append(json.dumps(instance_to_dict(report.instance)))
    assert len(set(seen)) == 1
    bare = tmp_path / "trace"
    bare.write_bytes(odd)
    assert import_trace(form, bare, **options).accepted == 2


@pytest.mark.parametrize(("form", "text", "options"), FORMATS)
def test_nothing_left_tells_the_counts(
    tmp_path: Path, form: str, text: str, options: dict[str, Any]
) -> None:
    """Where no row becomes a job the error has the number of rows and the count per reason."""
    path = tmp_path / "trace"
    lines = text.splitlines(keepends=True)
    header = [] if form == "pai" else lines[:1]
    rows = {
        "philly-list": "2017-10-09 07:01:55,66.0,4,66.0,a\n",
        "pai": lines[1],
        "swf": lines[2],
        "sacct": lines[2],
    }
    reasons = {
        "philly-list": "multi_gpu",
        "pai": "cpu_only",
        "swf": "zero_duration",
        "sacct": "never_started",
    }
    path.write_text("".join([*header, rows[form]]))
    with pytest.raises(NothingLeftError, match=rf"of 1 rows \({reasons[form]} 1\)"):
        import_trace(form, path, **options)
