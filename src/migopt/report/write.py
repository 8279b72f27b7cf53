"""From a results folder to report.md, report.html and results.csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from migopt.errors import InputError, UnknownNameError
from migopt.records import RECORDS_FILE, Record, read_records
from migopt.report.bars import bars_picture
from migopt.report.collect import Collection, Group, collect
from migopt.report.figures import busy_level_pictures, gap_picture, ranking_picture
from migopt.report.gantt import gantt_picture
from migopt.report.html import as_html
from migopt.report.markdown import as_markdown_report
from migopt.report.periods import split_days
from migopt.report.svg import Picture
from migopt.report.tables import number, results_csv
from migopt.report.time_of_day import hours_picture, partitions_picture


@dataclass(frozen=True)
class Written:
    """The files of a report."""

    markdown: Path
    html: Path
    csv: Path


def load(folder: Path) -> Collection:
    """Read and judge the records of a results folder.

    Raises
    ------
    InputError
        There are no records, or one of them cannot be read.
    """
    path = folder / RECORDS_FILE
    if not path.is_file():
        raise InputError(
            f"holds no {RECORDS_FILE}; is it the folder of migopt bench?", source=str(folder)
        )
    log = read_records(path)
    if not log.records:
        raise InputError("has no records yet", source=str(path))
    notice = ""
    if log.truncated:
        notice = f"The last line of {RECORDS_FILE} is unfinished and was left out."
    return collect(log.records.values(), notice)


def write_report(
    collection: Collection, folder: Path, out: Path, gantt: Sequence[str] | None = None
) -> Written:
    """Write the report of a collection.

    Parameters
    ----------
    collection : Collection
        What :func:`load` returned.
    folder : Path
        The results folder, where schedules lie.
    out : Path
        The folder to write into; made when missing.
    gantt : sequence of str, optional
        Run keys whose schedules are drawn; by default one of the best entry of each group.
    """
    chosen = {} if gantt is None else _chosen(collection, gantt)
    pictures = {
        group.name: _pictures(group, index) for index, group in enumerate(collection.groups)
    }
    for index, group in enumerate(collection.groups):
        records = chosen.get(group.name, []) if gantt is not None else _default(group)
        pictures[group.name] += [
            picture
            for position, record in enumerate(records)
            for picture in _schedule_pictures(record, folder, f"g{index}s{position}")
        ]
    days = {group.name: split_days(group, folder) for group in collection.groups}
    written = Written(out / "report.md", out / "report.html", out / "results.csv")
    try:
        out.mkdir(parents=True, exist_ok=True)
        _replace(written.markdown, as_markdown_report(collection, days))
        _replace(written.html, as_html(collection, pictures, days))
        _replace(written.csv, results_csv(collection))
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", source=str(out)) from None
    return written


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _pictures(group: Group, index: int) -> list[Picture]:
    pictures = [
        ranking_picture(group, f"g{index}r"),
        gap_picture(group, f"g{index}g"),
        hours_picture(group, f"g{index}h"),
        partitions_picture(group, f"g{index}p"),
    ]
    return [picture for picture in pictures if picture] + busy_level_pictures(group, f"g{index}b")


def _default(group: Group) -> list[Record]:
    """Return one run of the best entry: the first that has a stored schedule."""
    for ranked in group.ranking().rows:
        for row in group.of(ranked.entry):
            if row.record.schedule_file:
                return [row.record]
    return []


def _chosen(collection: Collection, keys: Sequence[str]) -> dict[str, list[Record]]:
    stored = {
        row.record.key: (group.name, row.record)
        for group in collection.groups
        for row in group.rows
        if row.record.schedule_file
    }
    found: dict[str, list[Record]] = {}
    for key in keys:
        if key not in stored:
            raise UnknownNameError("run with a stored schedule", key, stored)
        group, record = stored[key]
        found.setdefault(group, []).append(record)
    return found


def _schedule_pictures(record: Record, folder: Path, name: str) -> list[Picture]:
    from migopt.io import read_instance, read_schedule

    instance = read_instance(folder / record.instance_file)
    schedule = read_schedule(folder / record.schedule_file, instance)
    title = f"Schedule of {record.key}, cost {number(record.upper)}"
    return [
        gantt_picture(instance, schedule, name, title),
        bars_picture(instance, schedule, f"{name}p", f"Slices of {record.key}"),
    ]
