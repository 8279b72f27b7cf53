"""Slurm gres: types of MIG slices, in ``Gres=``, ``--gres=`` (job scripts too) and gres.conf lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from migopt.errors import InputError
from migopt.mig.state import GpuState
from migopt.model import GpuModel

_TYPE = re.compile(r"^(?:(?P<product>.+)_)?(?P<profile>\d+g\.\d+gb[a-z.+-]*)$")
_LIST = re.compile(r"(?:Gres|--gres)[= ](?P<list>\S+)", re.I)
_CONF = re.compile(r"Name=gpu\b.*\bType=(?P<type>\S+)(?:.*\bCount=(?P<count>\d+))?", re.I)


def gres_type(model: GpuModel, profile: str) -> str:
    """Return the type string of a slice, such as ``nvidia_a100_3g.20gb``."""
    product = re.match(r"[A-Za-z]+-PRO-\d+|[A-Za-z]+\d*", model.key)
    name = (product[0] if product else model.key).lower().replace("-", "_").replace(" ", "_")
    return f"nvidia_{name}_{profile}"


def write_gres(states: Sequence[GpuState]) -> str:
    """Return the ``Gres=`` entry of a node; raises InputError for a node without slices."""
    counts = Counter(
        gres_type(state.model, held.placement.profile) for state in states for held in state.slices
    )
    if not counts:
        raise InputError("no slice: slurmd refuses to start on a GPU in MIG mode without one")
    return "Gres=" + ",".join(f"gpu:{name}:{n}" for name, n in sorted(counts.items())) + "\n"


def read_gres(text: str, *, source: str = "") -> Counter[str]:
    """Return the slices that gres entries name, by profile; raises InputError with the line."""
    found: Counter[str] = Counter()
    # A job script asks in comments, #SBATCH --gres=..., and the rest of it is no gres.
    script = text.lstrip().startswith("#!") or "#SBATCH" in text
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip().removeprefix("#SBATCH").split("#")[0].strip()
        if script and not _LIST.search(line):
            continue
        if not line:
            continue
        where = f"line {number}"
        conf = _CONF.search(line)
        if conf is not None:
            found[_profile(conf["type"], where, source)] += int(conf["count"] or 1)
            continue
        match = _LIST.search(line)
        items = match["list"] if match else line
        for item in items.split(","):
            name, count = _item(item, where, source)
            found[name] += count
    if not found:
        raise InputError("names no gres", source=source)
    return found


def _item(item: str, where: str, source: str) -> tuple[str, int]:
    parts = item.strip().split("(")[0].split(":")
    if parts[0] != "gpu" or len(parts) not in (2, 3):
        raise InputError(
            f"{item!r} is no gres such as gpu:nvidia_a100_3g.20gb:2", where=where, source=source
        )
    count = parts[2] if len(parts) == 3 else "1"
    if not count.isdecimal() or not 1 <= int(count) <= 100_000:
        raise InputError(f"{item!r}: {count!r} is no count", where=where, source=source)
    return _profile(parts[1], where, source), int(count)


def _profile(text: str, where: str, source: str) -> str:
    match = _TYPE.match(text)
    if match is None:
        raise InputError(
            f"{text!r} names no MIG profile such as 3g.20gb", where=where, source=source
        )
    return match["profile"]
