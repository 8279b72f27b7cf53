"""One description of a node's slices into another format, by way of ``GpuState``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from migopt.errors import InputError, UnknownNameError
from migopt.mig.formats.commands import read_commands, run_commands, write_creates
from migopt.mig.formats.kubernetes import read_limits, write_limits
from migopt.mig.formats.mig_parted import (
    applies,
    config_named,
    read_mig_parted,
    slices_on,
    write_mig_parted,
)
from migopt.mig.formats.slurm import read_gres, write_gres
from migopt.mig.formats.write_listing import write_devices, write_lgi, write_lgip, write_lgipp
from migopt.mig.node import parse_node
from migopt.mig.place import place
from migopt.mig.state import (
    IDLE,
    GpuState,
    HeldSlice,
    Request,
    gpu_numbers,
    parse_have,
    parse_request,
)

#: Formats that can be read, and those that can be written.
READ = ("notation", "node", "listing", "commands", "mig-parted", "kubernetes", "slurm")
WRITE = (
    "notation", "node", "lgip", "lgipp", "lgi", "list", "list-old", "commands", "mig-parted",
    "kubernetes", "kubernetes-single", "slurm",
)  # fmt: skip


@dataclass(frozen=True)
class Converted:
    """The text in the other format, and what a person should know about it."""

    text: str
    states: tuple[GpuState, ...]
    warnings: tuple[str, ...]


def guess_format(text: str) -> str:
    """Return the format a text seems to be in; raises InputError where none fits."""
    if "migopt-node" in text:
        return "node"
    if "mig-configs" in text:
        return "mig-parted"
    if "nvidia-smi mig" in text and "-gi" in text.replace("-cgi", "-gi").replace("-dgi", "-gi"):
        lines = [line for line in text.splitlines() if line.strip().startswith(("+--", "|"))]
        return "listing" if lines else "commands"
    if "nvidia.com/" in text:
        return "kubernetes"
    if "gpu:" in text.lower() or "name=gpu" in text.lower():
        return "slurm"
    if any(word in text for word in ("GPU ", "|", "MIG ", "No GPU instances", "No MIG-enabled")):
        return "listing"
    if text.strip() and ("g." in text or "@" in text):
        return "notation"
    raise InputError(f"is in no format that is known ({', '.join(READ)})")


def read_states(
    text: str,
    states: Sequence[GpuState],
    *,
    form: str | None = None,
    config: str | None = None,
    source: str = "",
) -> tuple[list[GpuState], list[str]]:
    """Return the GPUs with the slices that a text gives them, and warnings.

    Parameters
    ----------
    states : sequence of GpuState
        The GPUs, in order; a listing or node file may name its own, then none is needed.
    form : str, optional
        A format of ``READ``; default: guessed.
    config : str, optional
        Label of the configuration of a mig-parted file.

    Raises
    ------
    InputError
        For text that is not in the format, or slices that the GPUs cannot hold.
    """
    form = form or guess_format(text)
    if form not in READ:
        raise UnknownNameError("format", form, READ)
    if form in ("node", "listing"):
        table = states[0].model if states else None
        told = parse_node(text, source=source).states(table, IDLE)
        return list(told.states), list(told.warnings)
    if not states:
        raise InputError(f"{form} names no GPU; give --gpu", source=source)
    if form == "notation":
        return _from_notation(text, states, source)
    if form == "commands":
        return run_commands(states, read_commands(text, source=source), source=source)
    if form == "mig-parted":
        return _from_mig_parted(text, states, config, source)
    slurm = form == "slurm"
    counts = read_gres(text, source=source) if slurm else read_limits(text, states, source=source)
    names = tuple(name for name, count in sorted(counts.items()) for _ in range(count))
    empty = [replace(state, slices=()) for state in states]
    return _placed(empty, Request(free=names), source)


def _from_notation(
    text: str, states: Sequence[GpuState], source: str
) -> tuple[list[GpuState], list[str]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != len(states):
        raise InputError(
            f"has {len(lines)} lines for {len(states)} GPUs; write one per GPU", source=source
        )
    out, warnings = [], []
    for line, state in zip(lines, states, strict=True):
        line = "" if line == "empty" else line
        if all("@" in item for item in line.split(",") if item.strip()):
            out.append(replace(state, slices=parse_have(line, state.model, where=source)))
            continue
        filled, notes = _placed([replace(state, slices=())], parse_request(line), source)
        out += filled
        warnings += notes
    return out, warnings


def _from_mig_parted(
    text: str, states: Sequence[GpuState], config: str | None, source: str
) -> tuple[list[GpuState], list[str]]:
    _, entries = config_named(read_mig_parted(text, source=source), config, source=source)
    out, warnings = [], []
    for number, state in zip(gpu_numbers(states), states, strict=True):
        hit = [entry for entry in entries if applies(entry, number, state.model)]
        if not hit:
            warnings.append(f"no entry applies to GPU {number}: it stays as it is")
            out.append(state)
            continue
        if len(hit) > 1:
            warnings.append(f"GPU {number}: {hit[-1].where} wins over {hit[0].where}")
        names = slices_on(hit[-1], state.model, source=source)
        bare = replace(state, slices=(), mig=hit[-1].enabled)
        if not names:
            out.append(bare)
            continue
        filled, notes = _placed([bare], Request(free=tuple(names)), source)
        out += filled
        warnings += notes
    return out, warnings


def _placed(
    states: Sequence[GpuState], request: Request, source: str
) -> tuple[list[GpuState], list[str]]:
    """Give starts to slices that come without; the driver may choose others."""
    answer = place(states, request)
    if answer.reason is not None:
        raise InputError(answer.reason.message, source=source)
    out = [
        replace(
            state,
            slices=(
                *state.slices,
                *(HeldSlice(p.placement) for p in answer.placements if p.gpu == i),
            ),
        )
        for i, state in enumerate(states)
    ]
    return out, [
        "the input has no starts: those given leave most room, the driver may choose others"
    ]


def write_states(
    states: Sequence[GpuState], form: str, *, label: str = "migopt"
) -> tuple[str, list[str]]:
    """Return the slices of GPUs in a format of ``WRITE``, and warnings.

    Raises UnknownNameError for another format, and InputError where the format cannot say it.
    """
    if form == "mig-parted":
        return write_mig_parted(states, label)
    profiles = [held.placement.profile for state in states for held in state.slices]
    if form == "kubernetes":
        return write_limits(profiles), _same_name_twice(states)
    if form == "slurm":
        return write_gres(states), []
    writers = {
        "lgip": write_lgip,
        "lgipp": write_lgipp,
        "lgi": write_lgi,
        "list": write_devices,
        "list-old": lambda s: write_devices(s, old=True),
        "commands": write_creates,
        "kubernetes-single": lambda _: write_limits(profiles, single=True),
        "notation": _notation,
        "node": _node,
    }
    if form not in writers:
        raise UnknownNameError("format", form, WRITE)
    return writers[form](states), []


def _same_name_twice(states: Sequence[GpuState]) -> list[str]:
    """Return warnings for names that stand for different slices on the GPUs of one node."""
    sizes: dict[str, set[tuple[int, int, int]]] = {}
    for state in states:
        for name in state.partition.profiles:
            profile = state.model.profile(name)
            shape = (profile.memory_units, state.model.memory_units, profile.compute_slices)
            sizes.setdefault(name, set()).add(shape)
    return [
        f"{name} is not the same slice on all of these GPUs"
        for name, shapes in sizes.items()
        if len(shapes) > 1
    ]


def _notation(states: Sequence[GpuState]) -> str:
    return "".join(f"{','.join(map(str, state.slices)) or 'empty'}\n" for state in states)


def _node(states: Sequence[GpuState]) -> str:
    lines = ["format: migopt-node", "version: 1", "gpus:"]
    for state in states:
        lines.append(f'  - gpu: "{state.model.key}"')
        lines.append(f'    label: "{state.label}"')
        lines.append(f"    mig: {'true' if state.mig else 'false'}")
        lines.append(f'    have: "{",".join(map(str, state.slices))}"')
    return "\n".join(lines) + "\n"


def convert(
    text: str,
    to: str,
    states: Sequence[GpuState] = (),
    *,
    form: str | None = None,
    config: str | None = None,
    source: str = "",
) -> Converted:
    """Return a text in another format; arguments and errors as ``read_states``, ``write_states``."""
    if to not in WRITE:
        raise UnknownNameError("format", to, WRITE)
    read, warnings = read_states(text, states, form=form, config=config, source=source)
    for state in read:
        if state.blocked:
            raise InputError(state.blocked, source=source)
    written, more = write_states(read, to, label=config or "migopt")
    return Converted(written, tuple(read), tuple(dict.fromkeys([*warnings, *more])))
