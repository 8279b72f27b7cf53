"""One certificate as a page: its figures, bounds, steps, gap by busy period, and schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from migopt.errors import InputError
from migopt.metrics.periods import Period
from migopt.model import Instance, Schedule
from migopt.records import Settings
from migopt.report.bars import bars_picture
from migopt.report.gantt import gantt_picture
from migopt.report.html import render
from migopt.report.period_svg import period_picture
from migopt.report.periods import NOTE, period_table, size_table
from migopt.report.svg import Picture
from migopt.report.tables import DASH, Table, number, percent, seconds

#: Busy periods listed, the worst first.
MOST_PERIODS = 15
#: From so many on they are put together by size, too.
FEWEST_FOR_SIZES = 5


def write_certificate_page(
    content: Mapping[str, Any],
    instance: Instance | None,
    schedule: Schedule | None,
    source: str,
    path: Path,
) -> None:
    """Write the page of one certificate.

    Parameters
    ----------
    content : Mapping
        The content of a certificate file.
    instance, schedule : Instance or None, Schedule or None
        What it is about; None where the file does not hold them.
    source : str
        Name of the file, to show.
    path : Path
        The page.

    Raises
    ------
    InputError
        A row of the periods is not one, or the page cannot be written.
    """
    page = certificate_page(content, instance, schedule, source)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", source=str(path)) from None


def certificate_page(
    content: Mapping[str, Any], instance: Instance | None, schedule: Schedule | None, source: str
) -> str:
    """Return the page; see ``write_certificate_page``."""
    name = source if instance is None or not instance.name else instance.name
    periods = _periods(content["periods"])
    tables = [_bounds_table(content)]
    if periods:
        tables.append(period_table(periods, MOST_PERIODS, note=NOTE))
    if len(periods) >= FEWEST_FOR_SIZES:
        tables.append(size_table(periods))
    return render(
        "certificate.html.j2",
        name=name,
        source=source,
        facts=_facts(content, instance),
        settings={} if instance is None else Settings.of(instance).described(),
        infeasible=content["infeasible"],
        tables=tables,
        pictures=_pictures(periods, instance, schedule, content, name),
        why_no_periods="" if periods else _why_no_periods(content, instance),
        stages=_stages_table(content["stages"]),
        versions=content["versions"],
    )


def _periods(rows: Sequence[Mapping[str, Any]]) -> list[Period]:
    try:
        return [Period.from_dict(row) for row in rows]
    except KeyError as error:
        raise InputError(f"a busy period lacks {error}", where="periods") from None


def _why_no_periods(content: Mapping[str, Any], instance: Instance | None) -> str:
    if content["upper"] is None:
        return "There is no schedule, so no gap to split."
    if instance is not None and len(instance.gpus) > 1:
        return "The gap is split by busy period for one GPU only."
    return "The gap is not split by busy period: that takes prices of the splitting bound."


def split_bound_text(bounds: Sequence[tuple[str, str, float]]) -> str:
    """Say which of the bounds (by, proof, value) the periods split, if a better one is known, else ''."""
    known = [bound for bound in bounds if bound[1] == "multipliers"]
    if not known:
        return ""
    best, split = (max(some, key=lambda bound: bound[2]) for some in (bounds, known))
    if split[2] >= best[2]:
        return ""
    return (
        f"The bound that is split is {number(split[2])} by {split[0]}; the best one, "
        f"{number(best[2])} by {best[0]}, is not known job by job."
    )


def _facts(content: Mapping[str, Any], instance: Instance | None) -> dict[str, str]:
    by, proof = content["lower_by"], content["proof"]
    lower = number(content["lower"]) + (f" by {by} ({proof.replace('_', ' ')})" if by else "")
    upper = number(content["upper"]) + (f" by {content['upper_by']}" if content["upper_by"] else "")
    facts = {
        "cost of the schedule": upper,
        "lower bound": lower,
        "gap": percent(content["gap"]),
        "active gap": percent(content["active_gap"]),
        "lower bound anyone can check": number(content["checkable_lower"]),
        "active gap to that": percent(content["checkable_active_gap"]),
        "made": f"{content['created_at']}, {seconds(content['wall_s'])} s, "
        f"{content['stop'].replace('_', ' ')}",
        "digest": content["instance_digest"],
    }
    if instance is None:
        return facts
    return {"jobs": str(len(instance.jobs))} | facts


def _bounds_table(content: Mapping[str, Any]) -> Table:
    parts = content["upper_parts"] or {}
    rows = [
        (
            "schedule",
            content["upper_by"] or DASH,
            "",
            number(content["upper"]),
            number(parts.get("energy")),
            number(parts.get("tardiness")),
        )
    ]
    rows += [
        (
            "lower bound",
            bound["by"],
            f"{bound['proof'].replace('_', ' ')} {bound['engine']}".strip(),
            number(bound["lower"]),
            number(bound["energy"]),
            number(bound["tardiness"]),
        )
        for bound in sorted(content["bounds"], key=lambda bound: -bound["lower"])
    ]
    columns = ("<what", "<by", "<proof", "cost", "of it energy", "tardiness")
    note = (
        "Multipliers and closed forms are evaluated anew by migopt certify --verify; what an engine "
        "says is its claim. Energy holds the constant cost of idle power."
    )
    return Table("Schedule and lower bounds", columns, tuple(rows), note)


def _stages_table(stages: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            str(stage["name"]),
            str(stage["outcome"]).replace("_", " "),
            seconds(stage["wall_s"]),
            number(stage["upper"]),
            number(stage["lower"]),
            _narrower(stage),
            str(stage["message"]),
        )
        for stage in stages
    )
    columns = ("<step", "<outcome", "time, s", "cost", "lower bound", "<for a narrower class")
    return Table("What was run", (*columns, "<message"), rows)


def _narrower(stage: Mapping[str, Any]) -> str:
    if stage["class_lower"] is None:
        return ""
    return f"{number(stage['class_lower'])} ({stage['class_name']})"


def _pictures(
    periods: Sequence[Period],
    instance: Instance | None,
    schedule: Schedule | None,
    content: Mapping[str, Any],
    name: str,
) -> list[Picture]:
    bounds = [(b["by"], b["proof"], b["lower"]) for b in content["bounds"]]
    title, note = "Gap by busy period", split_bound_text(bounds)
    found = [period_picture(periods, "periods", title, note)] if periods else []
    if instance is not None and schedule is not None:
        title = f"Schedule by {content['upper_by']}, cost {number(content['upper'])}"
        found.append(gantt_picture(instance, schedule, "schedule", title))
        found.append(bars_picture(instance, schedule, "slices", f"Slices of {name}"))
    return found
