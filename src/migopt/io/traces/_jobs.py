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


class JobBuilder:
    """Turns records into jobs of one GPU model under one set of options.

    Raises InputError on construction when an option cannot be read.
    """

    def __init__(self, model: GpuModel, options: ImportOptions) -> None:
        self.model, self.options = model, options
        self.memory_gb = _share_of(options.share_of)
        self.speed_of_card = _card_speeds(options.speed)
        self.slack = None if options.deadline_slack == "chronus" else _slack(options.deadline_slack)
        self.full = model.full_profile.name
        self.gain = Fraction(str(options.off_gain)) if options.mig_off else None
        self.fits: dict[float, Fit] = {}
        self.rates: dict[str, FrozenMap] = {}
        self.plain = sorted(
            (profile for profile in model.profiles if profile.kind == "plain"),
            key=lambda profile: (profile.compute_slices, profile.memory_units),
        )

    def jobs(self, records: list[Record]) -> tuple[Job, ...]:
        """Return one job per record and copy, numbered in order of arrival."""
        built: list[Job] = []
        for record in records:
            for copy in range(record.instances):
                built.append(self._job(len(built), record, copy))
        return tuple(built)

    def _job(self, number: int, record: Record, copy: int) -> Job:
        key = record.id if copy == 0 else f"{record.id}#{copy}"
        label = self._label(record, key)
        rates = self._rates(label)
        run_ms = half_up(record.run_s, 1000 * self.speed_of_card.get(record.card, 1))
        reference = record.profile or self.full
        work = max(1, run_ms * rates[self.model.key][reference])
        release = half_up(record.arrival_s, 1000)
        return Job(
            id=number,
            release_ms=release,
            due_ms=release + self._time_to_due_ms(record, run_ms, key),
            work=work,
            rates=rates,
            memory_bytes=self._memory(record),
            kind=record.kind or ("inference" if record.run_s < SHORT_S else "training"),
            elasticity=label,
            name=key,
        )

    def _time_to_due_ms(self, record: Record, run_ms: int, key: str) -> int:
        if record.limit_s:
            return half_up(record.limit_s, 1000)
        slack = self.slack
        if slack is None:
            slack = _chronus(unit(f"slack|{self.options.seed}|{key}"))
        time = ceil_div(slack.numerator * run_ms, slack.denominator)
        if record.request:
            time = max(time, half_up(self.options.deadline_floor_s, 1000))
        return time

    def _label(self, record: Record, key: str) -> str:
        """Return the elasticity class, or the measured model, of a record."""
        if self.options.elasticity == "measured":
            models = pool(_MEASURED, "infer" if record.kind == "inference" else "train")
            return models[hash64(f"measured|{key}") % len(models)].id
        if self.options.elasticity == "linear":
            return "linear"
        if record.profile:
            return f"capped-{self.model.profile(record.profile).compute_slices}g"
        if record.share < 1:
            return f"capped-{self.fit(record.share).profile.compute_slices}g"
        return _third(key)

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
        if self.memory_gb is None and (self.options.memory_floor == "none" or record.share >= 1):
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
