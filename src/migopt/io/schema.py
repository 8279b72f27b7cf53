"""The form of instance and schedule files: strict models, also the source of the JSON Schema.

They know form only. What the names mean and whether the whole makes sense is checked when the
models are turned into an Instance (``convert.py``, ``validate.py``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from migopt.io import limits

INSTANCE_FORMAT = "migopt-instance"
SCHEDULE_FORMAT = "migopt-schedule"
VERSION = 1
PROBLEM_KIND = "schedule"

FRACTION = r"^[0-9]{1,18}(/[0-9]{1,18})?$"
PLACEMENT = r"^[^@:\s]+@[0-9]{1,3}$"
SEGMENT_PLACEMENT = r"^(off|[^@:\s]+@[0-9]{1,3})$"
DIGEST = r"^[0-9a-f]{64}$"


def _name_table_or_list(value: Any) -> str | None:
    for kind, tag in ((str, "<name>"), (dict, "<table>"), (list, "<list>")):
        if isinstance(value, kind):
            return tag
    return None


def _one_of(message: str) -> Discriminator:
    """Let the type of the value pick the member of a union, so that only one can complain."""
    return Discriminator(
        _name_table_or_list, custom_error_type="one_of", custom_error_message=message
    )


def _whole(limit: limits.Limit) -> Any:
    return Field(ge=limit.low, le=limit.high)


TimeMs = Annotated[int, _whole(limits.TIME_MS)]
Rate = Annotated[int, _whole(limits.RATE)]
PowerMw = Annotated[int, _whole(limits.POWER_MW)]
AnyInt = Annotated[int, _whole(limits.ANY)]
Text = Annotated[str, Field(max_length=limits.SOURCE_LENGTH)]
Label = Annotated[str, Field(max_length=limits.LABEL_LENGTH)]
Placement = Annotated[str, Field(pattern=PLACEMENT, max_length=64)]
ProfileRates = dict[str, Rate]
RatesByGpu = dict[str, ProfileRates]

CatalogueOfGpu = Annotated[
    Annotated[str, Tag("<name>")]
    | Annotated[list[list[Placement]], Tag("<list>"), Field(min_length=1)],
    _one_of("must be a catalogue's name or a list of partitions"),
]
CatalogueField = Annotated[
    Annotated[str, Tag("<name>")] | Annotated[dict[str, CatalogueOfGpu], Tag("<table>")],
    _one_of("must be a catalogue's name or an object with one entry per GPU model"),
]
RatesField = Annotated[
    Annotated[str, Tag("<name>")] | Annotated[RatesByGpu, Tag("<table>")],
    _one_of("must be the name of a rate table or an object with one entry per GPU model"),
]
PartitionField = Annotated[
    Annotated[Literal["off"], Tag("<name>")] | Annotated[list[Placement], Tag("<list>")],
    _one_of('must be a list of placements or "off"'),
]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=()
    )


class GpuEntry(_Strict):
    """Some GPUs of one model; their indices continue those of the entry before."""

    model: Annotated[str, Field(description="key or product name, see `migopt gpus list`")]
    count: Annotated[int, _whole(limits.GPU_COUNT)] = 1


class PreemptionEntry(_Strict):
    """Whether running jobs may be stopped."""

    mode: Literal["free", "cost", "none"]
    resume_overhead_ms: Annotated[
        TimeMs, Field(description="served on the slice at each resume; counts in mode cost")
    ] = 0


class RepartitionEntry(_Strict):
    """How the partition of a GPU may change."""

    scope: Literal["gpu", "slices", "never"]
    tau_ms: Annotated[TimeMs, Field(description="duration of a repartition")] = 4000


class PowerEntry(_Strict):
    """Power of one GPU model by number of busy compute slices."""

    busy_mw: Annotated[
        list[PowerMw], Field(description="milliwatts with 0, 1, ... C busy compute slices")
    ]
    off_busy_mw: Annotated[
        PowerMw | None, Field(description="milliwatts while a job runs with MIG off")
    ] = None
    source: Annotated[Text, Field(description="where the figures come from")] = ""


class JobEntry(_Strict):
    """One job."""

    id: Annotated[int, _whole(limits.JOB_ID)]
    release_ms: Annotated[TimeMs, Field(description="earliest start")]
    due_ms: Annotated[TimeMs, Field(description="due date; before the release: late anyway")]
    work: Annotated[
        int,
        _whole(limits.WORK),
        Field(description="work / rate is the duration in milliseconds, rounded up"),
    ]
    rates: Annotated[
        RatesField,
        Field(description="work per millisecond by GPU model and profile; 0 or absent: not there"),
    ]
    weight: Annotated[int, _whole(limits.WEIGHT), Field(description="weight of its tardiness")] = 1
    memory_bytes: Annotated[
        int, _whole(limits.MEMORY_BYTES), Field(description="GPU memory it needs")
    ] = 0
    preemptible: Annotated[bool, Field(description="false: once started it runs to its end")] = True
    kind: Annotated[Label, Field(description="label for reports")] = ""
    elasticity: Annotated[Label, Field(description="label for reports")] = ""
    name: Annotated[Label, Field(description="for people; no part of the digest")] = ""


class InstanceFile(_Strict):
    """A scheduling problem on MIG GPUs: everything a schedule's legality and cost depend on."""

    format: Literal["migopt-instance"]
    version: Literal[1]
    kind: Literal["schedule"]
    name: Annotated[Label, Field(description="for people; no part of the digest")] = ""
    gpus: Annotated[list[GpuEntry], Field(min_length=1)]
    catalogue: Annotated[
        CatalogueField,
        Field(description="partitions that may be in force, by name or listed, per GPU model"),
    ]
    mig_off: Annotated[bool, Field(description="whether a GPU may run with MIG off")] = False
    preemption: PreemptionEntry = PreemptionEntry(mode="free")
    repartition: RepartitionEntry = RepartitionEntry(scope="gpu")
    power: Annotated[
        dict[str, PowerEntry],
        Field(description="by GPU model; needed where weight_a is above 0"),
    ] = {}
    weight_a: Annotated[
        str,
        Field(
            pattern=FRACTION,
            description="energy weight a as P/Q: cost = (a E + mean tardiness) / (a + 1), "
            "E in W·min, tardiness in minutes; 0 means tardiness alone",
        ),
    ]
    horizon_ms: Annotated[
        int, _whole(limits.HORIZON_MS), Field(description="H, over which idle energy is charged")
    ]
    rates: Annotated[
        dict[str, RatesByGpu], Field(description="rate tables that jobs refer to by name")
    ] = {}
    jobs: list[JobEntry]
    origin: Annotated[
        dict[str, Any], Field(description="where it came from; no part of the digest")
    ] = {}


class SegmentEntry(_Strict):
    """One uninterrupted run of a job on a placement."""

    job: AnyInt
    gpu: AnyInt
    placement: Annotated[
        str, Field(pattern=SEGMENT_PLACEMENT, max_length=64, description="profile@start or off")
    ]
    start_ms: AnyInt
    end_ms: AnyInt


class ReconfigurationEntry(_Strict):
    """One change of a GPU's partition."""

    gpu: AnyInt
    start_ms: AnyInt
    end_ms: AnyInt
    old: PartitionField
    new: PartitionField


class ScheduleFile(_Strict):
    """A schedule: the partition of each GPU at time 0, who ran where and when, and what changed."""

    format: Literal["migopt-schedule"]
    version: Literal[1]
    instance_digest: Annotated[
        str,
        Field(pattern=DIGEST, description="SHA-256 of its problem; absent: not compared"),
    ] = ""
    initial: Annotated[list[PartitionField], Field(description="per GPU, in the instance's order")]
    segments: list[SegmentEntry]
    reconfigurations: list[ReconfigurationEntry] = []
    origin: Annotated[
        dict[str, Any], Field(description="who made it; no part of the schedule")
    ] = {}
