"""Reads what ``nvidia-smi`` prints about MIG: ``-lgip``, ``-lgipp``, ``-lgi``, ``-lci``, ``-L``, processes.

One text may hold several listings one after the other. Columns are split on blanks, because drivers
use several widths. Ids of instances say nothing about places: the Placement column does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from migopt.errors import InputError

MOST_BYTES = 64 * 2**20


#: More than any GPU has (12 today): a larger number is a slip, and would fill memory.
MOST_UNITS = 256
_ENDLESS = re.compile(r"\d{19}")


@dataclass(frozen=True, slots=True)
class ListedProfile:
    """A row of ``nvidia-smi mig -lgip``."""

    gpu: int
    name: str
    driver_id: int
    free: int
    total: int
    memory_gib: Decimal
    p2p: str
    sm: int
    decoders: int
    encoders: int
    copy_engines: int
    jpeg: int
    ofa: int


@dataclass(frozen=True, slots=True)
class ListedPlacements:
    """A row of ``nvidia-smi mig -lgipp``."""

    gpu: int
    driver_id: int
    starts: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class ListedInstance:
    """A row of ``nvidia-smi mig -lgi``."""

    gpu: int
    name: str
    driver_id: int
    instance_id: int
    start: int
    size: int
    line: int


@dataclass(frozen=True, slots=True)
class ListedDevice:
    """A MIG device of ``nvidia-smi -L``; old drivers tell the instance ids in the UUID."""

    profile: str
    number: int
    uuid: str
    instance_id: int | None = None


@dataclass(slots=True)
class ListedGpu:
    """A GPU of ``nvidia-smi -L`` and its MIG devices."""

    number: int
    product: str
    uuid: str
    devices: list[ListedDevice] = field(default_factory=list)


@dataclass(slots=True)
class Listing:
    """Everything that a text of listings says.

    ``instances`` and ``compute`` are None where no such listing was there, which is not the same as
    a listing of nothing. ``compute`` and ``processes`` hold (GPU, GPU instance id).
    """

    source: str = ""
    profiles: list[ListedProfile] = field(default_factory=list)
    placements: list[ListedPlacements] = field(default_factory=list)
    instances: list[ListedInstance] | None = None
    compute: set[tuple[int, int]] | None = None
    processes: set[tuple[int, int]] | None = None
    gpus: list[ListedGpu] = field(default_factory=list)
    mig_off: bool = False

    @property
    def numbers(self) -> list[int]:
        """The numbers of all GPUs that some listing names, rising."""
        rows = [*self.profiles, *self.placements, *(self.instances or ())]
        found = {row.gpu for row in rows} | {gpu.number for gpu in self.gpus}
        return sorted(found | {gpu for gpu, _ in self.compute or ()})


_PROFILE = re.compile(
    r"(\d+)\s+MIG\s+(\S+)\s+(\d+)\s+(\d+)/(\d+)\s+(\d+(?:\.\d+)?)\s+(\S+)\s+(\d+)\s+(\d+)\s+(\d+)"
)
_SECOND = re.compile(r"(\d+)\s+(\d+)\s+(\d+)")
_INSTANCE = re.compile(r"(\d+)\s+MIG\s+(\S+)\s+(\d+)\s+(\d+)\s+(\d+):(\d+)")
_COMPUTE = re.compile(r"(\d+)\s+(\d+)\s+MIG\s+(\S+)\s+(\d+)\s+(\d+)(?:\s+\d+:\d+)?")
_PROCESS = re.compile(r"(\d+)\s+(\d+|N/A)\s+(\d+|N/A)\s+(\d+)\s+([A-Z+]+)\s+.*")
_PLACEMENTS = re.compile(
    r"GPU\s+(\d+)\s+Profile\s+ID\s+(\d+)\s+Placements?\s*:\s*\{\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)\}:(\d+)"
)
_GPU = re.compile(r"GPU\s+(\d+):\s*(.*?)\s*\(UUID:\s*([^)\s]+)\)")
_DEVICE = re.compile(r"MIG\s+(\S+)\s+Device\s+(\d+):\s*\(UUID:\s*([^)\s]+)\)")
_OLD_UUID = re.compile(r"MIG-GPU-[0-9a-fA-F-]+/(\d+)/(\d+)")
_BORDER = re.compile(r"\+[-=+]+\+|\|=+\|")
_TITLES = {
    "GPU instance profiles:": "profiles",
    "GPU instances:": "instances",
    "Compute instances:": "compute",
    "Processes:": "processes",
}
_EMPTY = {
    "No GPU instances found": "instances",
    "No compute instances found": "compute",
    "No running processes found": "processes",
}


def read_text(path: str | Path) -> str:
    """Return the text of a file; raises InputError where it cannot be read or is no text."""
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise InputError("is larger than 64 MiB", source=str(path))
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not text (UTF-8)", source=str(path)) from None


def parse_listing(text: str, *, source: str = "") -> Listing:
    """Read a text of one or several ``nvidia-smi`` listings.

    Raises
    ------
    InputError
        For a text without a listing, a line that does not belong there, a cut table, an id or a row
        twice, and for an error message of the driver, with the line.
    """
    reader = _Reader(source)
    for number, line in enumerate(text.splitlines(), 1):
        reader.line(number, line)
    return reader.done()


class _Reader:
    """Goes through the lines; ``section`` is the table they are in."""

    def __init__(self, source: str) -> None:
        self.out = Listing(source)
        self.section = ""
        self.rows = False
        self.half: re.Match[str] | None = None
        self.closed = True
        self.number = 0
        self.seen: set[tuple[object, ...]] = set()
        self.any = False

    def error(self, message: str) -> InputError:
        return InputError(message, where=f"line {self.number}", source=self.out.source)

    def once(self, *key: object) -> None:
        if key in self.seen:
            raise self.error(f"this {key[0]} is listed twice")
        self.seen.add(key)

    def line(self, number: int, raw: str) -> None:
        self.number = number
        line = raw.strip()
        if not line or line.startswith(("$", "#")):
            return
        if _ENDLESS.search(line):
            raise self.error("a number of more than 18 digits")
        if line.startswith(("+", "|=")) and _BORDER.fullmatch(line):
            self.border(line)
        elif line.startswith("|"):
            self.cell(line.strip("|").strip())
        else:
            self.free_line(line)

    def border(self, line: str) -> None:
        if self.half is not None:
            raise self.error("the second row of a profile (CE JPEG OFA) is missing")
        if line.startswith("|="):
            self.rows = True
        self.closed = line.startswith("+")

    def cell(self, cell: str) -> None:
        self.closed = False
        title = next((t for t in _TITLES if cell.startswith(t)), None)
        if title is not None:
            self.section, self.rows, self.any = _TITLES[title], False, True
            self.open(self.section)
            return
        if cell.startswith(("NVIDIA-SMI", "MIG devices:", "Compute instance profiles:")):
            self.section, self.rows, self.any = "other", False, True
            return
        if not self.section:
            raise self.error(
                "a table without a title that is known; is the listing cut at the top?"
            )
        if self.section == "other" or not self.rows or not cell:
            return
        if any(cell.startswith(text) for text in _EMPTY):
            return
        getattr(self, f"row_{self.section}")(cell)

    def open(self, section: str) -> None:
        if section != "profiles" and getattr(self.out, section) is None:
            setattr(self.out, section, [] if section == "instances" else set())

    def row_profiles(self, cell: str) -> None:
        if self.half is None:
            self.half = _PROFILE.fullmatch(cell)
            if self.half is None:
                raise self.error(f"not a row of GPU instance profiles: {cell[:60]!r}")
            return
        second, first = _SECOND.fullmatch(cell), self.half
        if second is None:
            raise self.error(f"not the second row (CE JPEG OFA) of a profile: {cell[:60]!r}")
        self.half = None
        gpu, name, driver_id, free, total, memory, p2p, sm, decoders, encoders = first.groups()
        if int(free) > int(total) or int(total) == 0:
            raise self.error(f"{name}: {free}/{total} are no counts of free and all instances")
        self.once("profile id", int(gpu), int(driver_id))
        self.once("profile", int(gpu), name)
        self.out.profiles.append(
            ListedProfile(
                int(gpu), name, int(driver_id), int(free), int(total), Decimal(memory), p2p,
                int(sm), int(decoders), int(encoders), *map(int, second.groups()),
            )
        )  # fmt: skip

    def row_instances(self, cell: str) -> None:
        match = _INSTANCE.fullmatch(cell)
        if match is None:
            raise self.error(f"not a row of GPU instances: {cell[:60]!r}")
        gpu, name, driver_id, instance_id, start, size = match.groups()
        self.once("GPU instance", int(gpu), int(instance_id))
        assert self.out.instances is not None
        self.out.instances.append(
            ListedInstance(
                int(gpu), name, int(driver_id), int(instance_id), int(start), int(size), self.number
            )
        )

    def row_compute(self, cell: str) -> None:
        match = _COMPUTE.fullmatch(cell)
        if match is None:
            raise self.error(f"not a row of compute instances: {cell[:60]!r}")
        assert self.out.compute is not None
        self.out.compute.add((int(match[1]), int(match[2])))

    def row_processes(self, cell: str) -> None:
        match = _PROCESS.fullmatch(cell)
        if match is None:
            raise self.error(f"not a row of processes: {cell[:60]!r}")
        assert self.out.processes is not None
        if match[2] != "N/A":
            self.out.processes.add((int(match[1]), int(match[2])))

    def free_line(self, line: str) -> None:
        if not self.closed:
            raise self.error("a table ends without its last border; is the listing cut?")
        placements, gpu = _PLACEMENTS.fullmatch(line), _GPU.fullmatch(line)
        device = _DEVICE.fullmatch(line)
        empty = next((what for text, what in _EMPTY.items() if line.startswith(text)), None)
        self.any = True
        if placements is not None:
            self.add_placements(placements)
        elif gpu is not None:
            self.once("GPU", int(gpu[1]))
            self.out.gpus.append(ListedGpu(int(gpu[1]), gpu[2], gpu[3]))
        elif device is not None:
            self.add_device(device)
        elif empty is not None:
            self.open(empty)
        elif line.startswith("No MIG-enabled devices found"):
            self.out.mig_off = True
        elif "Insufficient Permissions" in line or line.startswith(("Failed to", "Unable to")):
            raise self.error(f"nvidia-smi reports an error: {line[:100]}")
        elif not re.match(r"Warning:|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d", line):
            raise self.error(f"not a line of an nvidia-smi listing: {line[:60]!r}")

    def add_placements(self, match: re.Match[str]) -> None:
        starts = tuple(sorted(int(part) for part in match[3].split(",") if part.strip()))
        if len(set(starts)) != len(starts):
            raise self.error("a start is listed twice")
        if int(match[4]) == 0:
            raise self.error("a slice of no memory units")
        if max(starts, default=0) + int(match[4]) > MOST_UNITS:
            raise self.error(f"a slice beyond memory unit {MOST_UNITS}: no GPU has so many")
        self.once("placement list", int(match[1]), int(match[2]))
        self.out.placements.append(
            ListedPlacements(int(match[1]), int(match[2]), starts, int(match[4]))
        )

    def add_device(self, match: re.Match[str]) -> None:
        if not self.out.gpus:
            raise self.error("a MIG device before its GPU; is the listing cut at the top?")
        old = _OLD_UUID.fullmatch(match[3])
        device = ListedDevice(match[1], int(match[2]), match[3], int(old[1]) if old else None)
        self.once("MIG device", self.out.gpus[-1].number, device.number)
        self.out.gpus[-1].devices.append(device)

    def done(self) -> Listing:
        if self.half is not None:
            raise self.error("the listing ends within a profile; is it cut?")
        if not self.closed:
            raise self.error("the last table has no border at its end; is the listing cut?")
        if not self.any:
            raise InputError("holds no nvidia-smi listing", source=self.out.source)
        return self.out
