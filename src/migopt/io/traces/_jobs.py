"""What no trace tells and a schedule needs: deadline, elasticity, memory need; jobs from records.

Defaults and their evidence
---------------------------
* Deadline: arrival + 2 x run time. Chronus (SoCC 2021) published deadlines with a median of 1.97
  times the duration, quartiles 1.64 and 2.45, least 1.1, 95th percentile 3.54, greatest 5.
* Elasticity: a shared request is capped at the smallest slice that covers it; whole-GPU jobs are
  linear, sublinear or capped, a third each, chosen by a hash of the job's id and never by order.
* Memory: what the trace saw in use, else no need; ``memory_floor=share`` gives a shared request the
  memory of the smallest slice that covers its share. Not the default: it would bind a request for
  0.81 of some 16 GB card to the whole of a 40 GB one, while a request for 1.0 fits anywhere.
* A run time belongs to the card it was measured on; it counts as the run time on the whole GPU
  under MIG (the full slice) unless ``speed`` says how fast that card is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from migopt.errors import InputError
from migopt.io._options import rational
from migopt.io.elasticity import CAPS, SUBLINEAR, speeds
from migopt.io.measured import measured, pool
from migopt.io.rates import half_up, rates_of, spread
from migopt.io.traces._import_options import SLACKS, ImportOptions
from migopt.io.traces._pipeline import hash64, unit
from migopt.io.traces.common import Record
from migopt.model import FrozenMap, GpuModel, Job, Profile
from migopt.units import ceil_div

GIB = 2**30
#: A job without a class in its trace that ran for less than this counts as inference.
SHORT_S = 600
#: Where measured elasticities of trace jobs come from.
_MEASURED = ("miso", "parvagpu")
#: Quantiles of Chronus' deadlines over durations, for slack ``chronus``.
_CHRONUS = (
    (Fraction(0), Fraction("1.1")),
    (Fraction("0.25"), Fraction("1.64")),
    (Fraction("0.5"), Fraction("1.97")),
    (Fraction("0.75"), Fraction("2.45")),
    (Fraction("0.95"), Fraction("3.54")),
    (Fraction(1), Fraction(5)),
)


@dataclass(frozen=True)
class Fit:
    """The smallest slice that covers a request.

    Attributes
    ----------
    profile : Profile
        That slice.
    memory_bytes : int
        Memory that the request needs, 0 when no need is derived.
    """

    profile: Profile
    memory_bytes: int


class _Draft:
    """A job while it is made: the layout of ``Job``, which it becomes, without its guard.

    A frozen dataclass fills its fields through ``object.__setattr__``, which over a million rows takes
    longer than reading them from the file.
    """

    __slots__ = Job.__slots__

    def __init__(self, fields: tuple[Any, ...]) -> None:
        (
            self.id,
            self.release_ms,
            self.due_ms,
            self.work,
            self.rates,
            self.weight,
            self.memory_bytes,
            self.preemptible,
            self.kind,
            self.elasticity,
            self.name,
        ) = fields
        self.__class__ = Job  # type: ignore[assignment]


class JobBuilder:
    """Turns records into jobs of one GPU model under one set of options.

    Raises InputError on construction when an option cannot be read.
    """

    def __init__(self, model: GpuModel, options: ImportOptions) -> None:
        self.model, self.options = model, options
        self.memory_gb = _share_of(options.share_of)
        self.speed_of_card = _card_speeds(options.speed)
        chronus = options.deadline_slack == "chronus"
        self.slack = None if chronus else _slack(options.deadline_slack).as_integer_ratio()
        self.floor_ms = half_up(options.deadline_floor_s, 1000)
        self.elasticity = options.elasticity
        # Shares of an A100 need no memory by default; what is seen in use counts in any case.
        self.no_need = self.memory_gb is None and options.memory_floor == "none"
        self.full = model.full_profile.name
        self.gain = Fraction(str(options.off_gain)) if options.mig_off else None
        self.fits: dict[float, Fit] = {}
        self.rates: dict[str, FrozenMap] = {}
        self.work_per_ms: dict[tuple[str, str], int] = {}
        self.caps: dict[tuple[str, float], str] = {}
        self.plain = sorted(
            (profile for profile in model.profiles if profile.kind == "plain"),
            key=lambda profile: (profile.compute_slices, profile.memory_units),
        )

    def jobs(self, records: list[Record]) -> tuple[Job, ...]:
        """Return one job per record and copy, numbered in order of arrival."""
        built: list[Job] = []
        for record in records:
            built.append(self._job(len(built), record, record.id))
            for copy in range(1, record.instances):
                built.append(self._job(len(built), record, f"{record.id}#{copy}"))
        return tuple(built)

    def _job(self, number: int, record: Record, key: str) -> Job:
        label = self._label(record, key)
        rates = self._rates(label)
        run_s = record.run_s
        speed = self.speed_of_card.get(record.card)
        run_ms = half_up(run_s, 1000 if speed is None else 1000 * speed)
        release = half_up(record.arrival_s, 1000)
        fields = (
            number,
            release,
            release + self._time_to_due_ms(record, run_ms, key),
            run_ms * self._work_per_ms(label, record.profile) or 1,
            rates,
            1,
            0 if self.no_need and not record.memory_bytes else self._memory(record),
            True,
            record.kind or ("inference" if run_s < SHORT_S else "training"),
            label,
            key,
        )
        return _Draft(fields)  # type: ignore[return-value]

    def _work_per_ms(self, label: str, profile: str) -> int:
        """Return the rate on the slice that the run time was measured on."""
        rate = self.work_per_ms.get((label, profile))
        if rate is None:
            rate = self._rates(label)[self.model.key][profile or self.full]
            self.work_per_ms[label, profile] = rate
        return rate

    def _time_to_due_ms(self, record: Record, run_ms: int, key: str) -> int:
        if record.limit_s:
            return half_up(record.limit_s, 1000)
        if self.slack is None:
            drawn = _chronus(unit(f"slack|{self.options.seed}|{key}"))
            over, under = drawn.as_integer_ratio()
        else:
            over, under = self.slack
        time = ceil_div(over * run_ms, under)
        return max(time, self.floor_ms) if record.request else time

    def _label(self, record: Record, key: str) -> str:
        """Return the elasticity class, or the measured model, of a record."""
        if self.elasticity == "auto" and record.share == 1 and not record.profile:
            return _third(key)
        if self.elasticity == "measured":
            models = pool(_MEASURED, "infer" if record.kind == "inference" else "train")
            return models[hash64(f"measured|{key}") % len(models)].id
        if self.elasticity == "linear":
            return "linear"
        cap = self.caps.get((record.profile, record.share))
        return cap or self._cap(record.profile, record.share)

    def _cap(self, profile: str, share: float) -> str:
        """Return the class of a job that ran on a slice, or asked for a share of a GPU."""
        covers = self.model.profile(profile) if profile else self.fit(share).profile
        label = self.caps[profile, share] = f"capped-{covers.compute_slices}g"
        return label

    def _rates(self, label: str) -> FrozenMap:
        if label not in self.rates:
            if self.options.elasticity == "measured":
                # Nobody measured these models with MIG off: there they run as on the full slice.
                off = Fraction(1) if self.options.mig_off else Fraction(0)
                relative = spread(self.model, measured()[label].relative, off)
            else:
                relative = speeds(self.model, label, off_gain=self.gain)
            self.rates[label] = rates_of(self.model, relative)
        return self.rates[label]

    def _memory(self, record: Record) -> int:
        """Return the GPU memory a job needs: what was seen, else what covers its share."""
        if record.memory_bytes:
            sizes = [p.memory_bytes for p in self.plain if p.memory_bytes is not None]
            return min(record.memory_bytes, max(sizes, default=record.memory_bytes))
        if self.no_need or (self.memory_gb is None and record.share >= 1):
            return 0
        return self.fit(record.share).memory_bytes

    def fit(self, share: float) -> Fit:
        """Return the smallest slice that covers a share of a card.

        A share of an A100 must be covered in compute slices and in memory units alike; with
        ``share_of`` ``memory:GB`` the absolute memory of the source card decides alone.
        """
        if share not in self.fits:
            self.fits[share] = self._fit(Fraction(str(share)))
        return self.fits[share]

    def _fit(self, part: Fraction) -> Fit:
        model = self.model
        if self.memory_gb is not None:
            need = -(-part * self.memory_gb * GIB // 1)
            fitting = [p for p in self.plain if p.memory_bytes is None or p.memory_bytes >= need]
            profile = fitting[0] if fitting else self.plain[-1]
            return Fit(profile, int(need) if fitting else 0)
        fitting = [
            p
            for p in self.plain
            if p.compute_slices >= part * model.compute_slices
            and p.memory_units >= part * model.memory_units
        ]
        units = part * model.memory_units
        sizes = [p.memory_bytes for p in model.profiles if p.memory_units >= units]
        known = [size for size in sizes if size is not None]
        return Fit(fitting[0], min(known, default=0))


def _third(key: str) -> str:
    """Return the elasticity class of a whole-GPU job, from a hash of its id."""
    rest, which = divmod(hash64(f"class|{key}"), 3)
    if which == 0:
        return "linear"
    if which == 1:
        return SUBLINEAR[rest % len(SUBLINEAR)]
    return f"capped-{CAPS[rest % len(CAPS)]}g"


def _slack(text: str) -> Fraction:
    if text in SLACKS:
        return Fraction(str(SLACKS[text]))
    slack = rational(text, "deadline_slack")
    if slack == 0:
        raise InputError("must be above 0", where="deadline_slack")
    return slack


def _chronus(u: Fraction) -> Fraction:
    """Map a uniform number to Chronus' quantiles, straight lines between them."""
    for (p, low), (q, high) in pairwise(_CHRONUS):
        if u < q:
            return low + (u - p) / (q - p) * (high - low)
    return _CHRONUS[-1][1]


def _share_of(text: str) -> Fraction | None:
    """Return the gigabytes of the source card, or None when shares are shares of an A100."""
    if text == "a100":
        return None
    kind, _, size = text.partition(":")
    if kind != "memory" or not size:
        raise InputError(f"write a100 or memory:GB, e.g. memory:16, not {text!r}", where="share_of")
    memory = rational(size, "share_of")
    if memory == 0:
        raise InputError("must be above 0", where="share_of")
    return memory


def _card_speeds(text: str) -> dict[str, Fraction]:
    speeds = {}
    for part in filter(None, text.split(",")):
        card, _, value = part.partition("=")
        speeds[card.strip()] = rational(value, "speed")
        if speeds[card.strip()] == 0:
            raise InputError(f"speed of {card.strip()} must be above 0", where="speed")
    return speeds
