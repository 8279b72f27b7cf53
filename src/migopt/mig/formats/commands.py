"""Lists of ``nvidia-smi mig`` commands: written in a safe order with starts, and read back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from migopt.errors import InputError
from migopt.mig.formats.write_listing import driver_id
from migopt.mig.plan import CREATE_STEP, Step
from migopt.mig.state import IDLE, ORPHAN, GpuState, HeldSlice, gpu_numbers, refuse_impossible
from migopt.model import GpuModel, Placement, Profile

_FIND = r"""# Prints the id of the GPU instance of profile id $2 at memory unit $3 of GPU $1.
gi_at() {
  nvidia-smi mig -i "$1" -lgi | sed -nE "s/^\| +$1 +MIG +[^ ]+ +$2 +([0-9]+) +$3:[0-9]+ +\|$/\1/p"
}"""
_ITEM = re.compile(r"^(?:MIG\s+)?(?P<profile>\d+g\.\d+gb\S*?|\d+)(?::(?P<start>\d+))?$")


@dataclass(frozen=True, slots=True)
class Command:
    """One ``nvidia-smi mig`` command.

    Attributes
    ----------
    op : str
        ``create``, ``destroy`` (GPU instances) or ``destroy_compute``.
    gpus : tuple of int or None
        The GPUs; None for all.
    items : tuple of (str, int or None)
        For ``create``: profile name or id, and start.
    ids : tuple of int or None
        For the others: GPU instance ids; None for all.
    line : int
        Where it stands.
    """

    op: str
    gpus: tuple[int, ...] | None
    items: tuple[tuple[str, int | None], ...] = ()
    ids: tuple[int, ...] | None = None
    line: int = 0


def write_commands(states: Sequence[GpuState], steps: Sequence[Step]) -> str:
    """Return a shell script of ``nvidia-smi mig`` commands for the steps of a plan, in their order.

    Every created slice has its start and gets its compute instance (``-C``); a compute instance is
    destroyed before its GPU instance. Where the id of a GPU instance is not known it is looked up
    when the script runs. ``set -eu`` stops it at the first command that fails, because earlier
    creations stay.

    Raises InputError for a profile whose id was never seen.
    """
    body = []
    lookup = False
    gpus = gpu_numbers(states)
    for step in steps:
        state = states[step.gpu]
        profile = state.model.profile(step.placement.profile)
        number, start = driver_id(state.model, profile), step.placement.start
        head = f"nvidia-smi mig -i {gpus[step.gpu]}"
        if step.op == CREATE_STEP:
            body.append(f"{head} -cgi {number}:{start} -C  # {step.placement}")
            continue
        held = next((h for h in state.slices if h.placement == step.placement), None)
        known = held.instance_id if held is not None else None
        lookup |= known is None
        instance = "$gi" if known is None else str(known)
        note = f"  # {step.placement}" + (
            ", busy: stop its job first" if step.was == "busy" else ""
        )
        if known is None:
            body.append(f'gi="$(gi_at {gpus[step.gpu]} {number} {start})"; test -n "$gi"')
        if held is None or held.state != ORPHAN:
            body.append(f"{head} -dci -gi {instance}")
        body.append(f"{head} -dgi -gi {instance}{note}")
    header = ["#!/bin/sh", "set -eu"] + ([_FIND] if lookup else [])
    return "\n".join([*header, *(body or ["# nothing to do"])]) + "\n"


def write_creates(states: Sequence[GpuState]) -> str:
    """Return one ``-cgi`` command per GPU that creates its slices on an empty GPU, with starts."""
    lines = []
    for number, state in zip(gpu_numbers(states), states, strict=True):
        items = [
            f"{driver_id(state.model, state.model.profile(p.profile))}:{p.start}"
            for p in state.partition
        ]
        if items:
            lines.append(f"nvidia-smi mig -i {number} -cgi {','.join(items)} -C")
    return "\n".join(lines) + "\n" if lines else ""


def read_commands(text: str, *, source: str = "") -> list[Command]:
    """Read ``nvidia-smi mig`` commands, one a line; raises InputError with the line of a bad one."""
    found = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip().removeprefix("$ ").removeprefix("sudo ")
        if not line or line.startswith(("#", "set ")):
            continue
        where = f"line {number}"
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InputError(f"cannot be read: {error}", where=where, source=source) from None
        if words[:1] == ["sudo"]:
            words = words[1:]
        if words[:2] != ["nvidia-smi", "mig"]:
            raise InputError(
                f"not an nvidia-smi mig command: {line[:60]!r}", where=where, source=source
            )
        found.append(_command(words[2:], number, source))
    if not found:
        raise InputError("holds no nvidia-smi mig command", source=source)
    return found


_LONG = {
    "--id": "-i", "--create-gpu-instance": "-cgi", "--default-compute-instance": "-C",
    "--destroy-gpu-instance": "-dgi", "--destroy-compute-instance": "-dci",
    "--gpu-instance-id": "-gi", "--compute-instance-id": "-ci",
}  # fmt: skip


def _command(words: list[str], line: int, source: str) -> Command:
    where = f"line {line}"
    options: dict[str, str] = {}
    rest = [part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    while rest:
        name = _LONG.get(rest[0], rest[0])
        rest.pop(0)
        if name in ("-C", "-dgi", "-dci"):
            options[name] = ""
        elif name in ("-i", "-cgi", "-gi", "-ci"):
            if not rest:
                raise InputError(f"{name} needs a value", where=where, source=source)
            options[name] = rest.pop(0)
        else:
            raise InputError(f"option {name} is not understood", where=where, source=source)
    gpus = _numbers(options.get("-i"), where, source)
    if "-cgi" in options:
        items = tuple(_item(part.strip(), where, source) for part in options["-cgi"].split(","))
        return Command("create", gpus, items, line=line)
    ids = _numbers(options.get("-gi"), where, source)
    if "-dgi" in options or "-dci" in options:
        return Command(
            "destroy" if "-dgi" in options else "destroy_compute", gpus, ids=ids, line=line
        )
    raise InputError("needs -cgi, -dci or -dgi", where=where, source=source)


def _numbers(text: str | None, where: str, source: str) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise InputError(f"{text!r} is no list of numbers", where=where, source=source)
    return tuple(int(part) for part in parts)


def _item(text: str, where: str, source: str) -> tuple[str, int | None]:
    match = _ITEM.match(text)
    if match is None:
        message = f"{text!r} is no profile or profile:start, such as 9:4 or 3g.20gb"
        raise InputError(message, where=where, source=source)
    return match["profile"], None if match["start"] is None else int(match["start"])


def profile_by_id(model: GpuModel, text: str, *, where: str = "", source: str = "") -> Profile:
    """Return the profile that a name or a driver's id means on one GPU; InputError with those there."""
    if not text.isdecimal():
        return model.profile(text, where=where)
    for profile in model.profiles:
        if profile.driver_id == int(text):
            return profile
    exist = ", ".join(f"{p.driver_id} ({p.name})" for p in model.profiles)
    raise InputError(
        f"no profile id {text} on {model.key}; there are {exist}", where=where, source=source
    )


def run_commands(
    states: Sequence[GpuState], commands: Sequence[Command], *, source: str = ""
) -> tuple[list[GpuState], list[str]]:
    """Return the GPUs after the commands, and warnings where the driver would choose a start.

    Raises InputError where a command would fail: an unknown id, a place that is taken, a GPU
    instance that still has a compute instance.
    """
    now, known = list(states), gpu_numbers(states)
    warnings: list[str] = []
    for command in commands:
        where = f"line {command.line}"
        for name in known if command.gpus is None else command.gpus:
            if name not in known:
                raise InputError(f"there is no GPU {name}", where=where, source=source)
            number = known.index(name)
            if command.op == "create":
                now[number] = _create(now[number], command, warnings, where, source)
            else:
                now[number] = _destroy(now[number], command, where, source)
    return now, warnings


def _create(
    state: GpuState, command: Command, warnings: list[str], where: str, source: str
) -> GpuState:
    from migopt.mig.place import place
    from migopt.mig.state import Request

    model, free = state.model, []
    for text, start in command.items:
        profile = profile_by_id(model, text, where=where, source=source)
        if start is None:
            free.append(profile.name)
            continue
        held = HeldSlice(Placement(start, profile.name))
        state = replace(state, slices=(*state.slices, held))
        refuse_impossible(model, (h.placement for h in state.slices), where=where, source=source)
    if free:
        answer = place([state], Request(free=tuple(free)))
        if answer.reason is not None:
            raise InputError(answer.reason.message, where=where, source=source)
        warnings.append(
            f"{where}: no start is given for {', '.join(free)}; the driver chooses, here it is "
            f"{', '.join(str(placed.placement) for placed in answer.placements)}"
        )
        new = tuple(HeldSlice(placed.placement) for placed in answer.placements)
        state = replace(state, slices=(*state.slices, *new))
    return state


def _destroy(state: GpuState, command: Command, where: str, source: str) -> GpuState:
    known = {held.instance_id for held in state.slices}
    for number in command.ids or ():
        if number not in known:
            raise InputError(
                f"no GPU instance {number} is known on GPU {state.label}; give its -lgi listing",
                where=where, source=source,
            )  # fmt: skip
    hit = [h for h in state.slices if command.ids is None or h.instance_id in command.ids]
    rest = [h for h in state.slices if h not in hit]
    if command.op == "destroy_compute":
        return replace(state, slices=(*rest, *(replace(h, state=ORPHAN) for h in hit)))
    for held in hit:
        if held.state not in (ORPHAN, IDLE):
            raise InputError(
                f"{held.placement} is in use by another client", where=where, source=source
            )
    return replace(state, slices=tuple(rest))
