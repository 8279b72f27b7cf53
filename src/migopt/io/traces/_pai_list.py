"""The list of 100K jobs that ships with PAI's simulator: one row per job, with a header.

Its ``num_gpu`` counts GPUs per instance, so 0.5 is half a one. Its clock is not documented.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from migopt.io.traces._clock import Zone, number
from migopt.io.traces._pai_tables import copies_of, share_of
from migopt.io.traces.common import Columns, Record, Rejection, Stated, split_csv

COLUMNS = (
    *("job_id", "num_inst", "submit_time", "num_cpu", "num_gpu", "gpu_type", "duration", "user"),
)
_NEEDED = ("job_id", "num_inst", "submit_time", "num_gpu", "duration")
_FIELDS = ("id", "arrival", "run_time", "share", "instances")


def is_list(fields: list[str]) -> bool:
    """Return whether a first line is this list's header."""
    return bool({"submit_time", "duration"} & {name.strip() for name in fields})


def read_list(
    header: list[str], rows: Iterator[tuple[int, str]], clock: Zone, notes: list[str]
) -> Iterator[Record | Rejection | Stated]:
    """Yield the items of the list; its hours are real only on a clock that the user vouches for."""
    columns = Columns(header, COLUMNS, notes)
    columns.require(_NEEDED)
    card, user = columns.index.get("gpu_type"), columns.index.get("user")
    extra = [name for name, at in (("card", card), ("tenant", user)) if at is not None]
    yield Stated((*_FIELDS, *extra), clock.place is not None)
    needed = itemgetter(*(columns.index[name] for name in _NEEDED))
    for line, text in rows:
        fields = split_csv(text)
        if len(fields) != columns.width:
            yield Rejection("malformed")
            continue
        try:
            item = _job(line, *needed(fields), clock)  # type: ignore[call-arg]
        except ValueError:
            item = Rejection("malformed")
        if isinstance(item, Record):
            item.card = "" if card is None else fields[card]
            item.tenant = "" if user is None else fields[user]
        yield item


def _job(
    line: int, name: str, copies: str, submit: str, gpus: str, duration: str, clock: Zone
) -> Record | Rejection:
    instances, share = copies_of(copies), share_of(gpus, 1)
    below = duration.startswith("-")
    run = number(duration[1:] if below else duration) if duration else None
    if not name:
        raise ValueError(line)
    # Unlike in the tables, second 0 is a time here: the list counts from its own zero.
    if not submit:
        return Rejection("no_arrival")
    arrival = clock.wall(number(submit))
    if share == 0 or share > 1:
        return Rejection("cpu_only" if share == 0 else "multi_gpu", arrival)
    if run is None:
        return Rejection("no_end", arrival)
    return Record(line, name, arrival, -run if below else run, share=share, instances=instances)
