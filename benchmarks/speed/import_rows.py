"""Import a million made-up rows of every trace format and check counts, sums, time and memory.

    python benchmarks/speed/import_rows.py [--rows 1000000] [--formats pai,swf] [--report-only]

Each format runs in a process of its own. Asserted: rows = accepted + dropped with the counts that the
rows were made with, the sum of run times, and (unless --report-only) less than 10 s of processor time
per million rows and less than 1 GB. Processor time, not time on the wall: the import is one thread,
and a machine that does other work says nothing about it. Both are printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS_PER_MILLION, BYTES = 10.0, 1e9
HEADERS = {
    "openb": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time",
    "philly": "[",
    "philly-list": "timestamp,duration,num_gpus,gpu_time,cluster",
    "sacct": "JobID|State|Submit|Start|End|AllocTRES|JobName",
    "swf": "; UnixStartTime: 1272639895\n; TimeZoneString: Asia/Tokyo",
}
OPTIONS: dict[str, dict[str, Any]] = {"swf": {"procs_per_gpu": 8}}


def row(format: str, i: int, last: bool) -> str:
    """Return row ``i``: every tenth wants several GPUs, the others run for ``1 + i % 1000`` seconds."""
    start, run, many = i // 10, 1 + i % 1000, i % 10 == 9
    end = start + run
    if format == "openb":
        milli = 1000 if many or i % 2 else 470
        return f"p{i},1,1,{2 if many else 1},{milli},,LS,Running,{start},{end},{start}"
    if format == "pai":
        times = f"{start + 1}.0,{end + 1}.0"
        return f"j{i},worker,1.0,Terminated,{times},600.0,29.3,{200.0 if many else 50.0},T4"
    if format == "swf":
        return f"{i + 1} {start} -1 {run} {16 if many else 4} -1 -1 -1 600 -1 1 3 1 -1 1 -1 -1 -1"
    day, rest = divmod(start, 86_400)
    begin = _clock(day, rest)
    finish = _clock(*divmod(end, 86_400))
    if format == "philly-list":
        return f"{begin},{run}.0,{4 if many else 1},1,v{i % 7}"
    if format == "sacct":
        times = "|".join(text.replace(" ", "T") for text in (begin, begin, finish))
        return f"{i}|COMPLETED|{times}|cpu=8,gres/gpu={2 if many else 1},node=1|a|b"
    gpus = ["gpu0", "gpu1"] if many else ["gpu0"]
    attempt = {"start_time": begin, "end_time": finish, "detail": [{"ip": "m", "gpus": gpus}]}
    job = {"status": "Pass", "vc": "v", "jobid": f"a{i}", "submitted_time": begin}
    return json.dumps(job | {"attempts": [attempt]}) + ("]" if last else ",")


def _clock(day: int, second: int) -> str:
    minute, second = divmod(second, 60)
    return f"2017-10-{1 + day:02} {minute // 60:02}:{minute % 60:02}:{second:02}"


def write(format: str, rows: int, path: Path) -> None:
    """Write the made-up trace."""
    with path.open("w") as file:
        file.writelines(line + "\n" for line in _lines(format, rows))


def _lines(format: str, rows: int) -> Iterator[str]:
    if format in HEADERS:
        yield HEADERS[format]
    for i in range(rows):
        yield row(format, i, i == rows - 1)


def measure(format: str, rows: int, path: Path) -> dict[str, Any]:
    """Import in this process; raises AssertionError when an answer is wrong."""
    wall, cpu = time.perf_counter(), time.process_time()
    from migopt.io.traces import import_trace

    report = import_trace(format, path, **OPTIONS.get(format, {}))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    runs = [1 + i % 1000 for i in range(rows) if i % 10 != 9]
    cut = 0
    if format == "openb":
        ends = [i // 10 + 1 + i % 1000 for i in range(rows)]
        latest = max(ends)
        held = [i for i in range(rows) if ends[i] == latest and i % 10 != 9]
        cut = len(held)
        runs = [1 + i % 1000 for i in range(rows) if i % 10 != 9 and ends[i] != latest]
    expected = {"multi_gpu": rows // 10} | ({"no_end": cut} if cut else {})
    assert report.rows == rows, report.rows
    assert report.dropped == expected, report.dropped
    assert report.accepted == len(report.instance.jobs) == len(runs), report.accepted
    total = sum(record[2] for record in report.instance.origin["records"]["rows"])
    assert total == sum(runs), total
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"format": format, "rows": rows, "wall_s": wall, "cpu_s": cpu, "peak_bytes": peak}


def main() -> int:
    """Run every format; exit 1 when one misses its limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--formats", default="openb,pai,philly,philly-list,sacct,swf")
    parser.add_argument("--report-only", action="store_true", help="do not judge time and memory")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.file:
        print(json.dumps(measure(arguments.formats, arguments.rows, arguments.file)))
        return 0
    missed = 0
    for format in arguments.formats.split(","):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace"
            write(format, arguments.rows, path)
            child = [sys.executable, __file__, "--rows", str(arguments.rows)]
            child += ["--formats", format, "--file", str(path)]
            done = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True)
        result = json.loads(done.stdout)
        allowed = SECONDS_PER_MILLION * max(1.0, arguments.rows / 1e6)
        ok = result["cpu_s"] < allowed and result["peak_bytes"] < BYTES
        missed += not ok
        print(
            f"{format:12} {result['rows']} rows, {result['cpu_s']:.1f} s processor, "
            f"{result['wall_s']:.1f} s wall, {result['peak_bytes'] / 1e9:.2f} GB"
            f"{'' if ok else ': over the limit'}",
            flush=True,
        )
    return 1 if missed and not arguments.report_only else 0


if __name__ == "__main__":
    sys.exit(main())
