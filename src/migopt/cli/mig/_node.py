"""The options that name GPUs and their slices, alike on every ``migopt mig`` command."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from migopt.errors import InputError

if TYPE_CHECKING:
    from migopt.mig.explain import Reason
    from migopt.mig.state import GpuState, Request
    from migopt.model import GpuModel

F = TypeVar("F", bound=Callable[..., Any])
_NUMBERED = re.compile(r"^\s*(\d+)\s*=(.*)$", re.S)


def node_options(function: F) -> F:
    """Add ``--gpu``, ``--gpu-listing``, ``--have``, ``--node``, ``--driver`` and ``--listed-idle``."""
    options = [
        click.option(
            "--gpu", "gpus", multiple=True, metavar="GPU",
            help="Key, product name, or GPU table (FILE.toml); repeat for several GPUs.",
        ),
        click.option(
            "--gpu-listing", "listings", multiple=True, metavar="FILE",
            help="Output of nvidia-smi (-L, mig -lgip, -lgipp, -lgi, -lci): the card's own geometry and slices.",
        ),
        click.option(
            "--have", "haves", multiple=True, metavar="SLICES",
            help='Slices that exist, e.g. "4g.20gb@0:busy,2g.10gb@4"; one per GPU, in order.',
        ),
        click.option("--node", "node_file", metavar="FILE", help="A node file: migopt-node document or listings."),
        click.option("--driver", metavar="VERSION", help="Judge as this driver does, for example 470."),
        click.option(
            "--listed-idle", is_flag=True,
            help="Slices of a listing without a process table are idle; default: busy, to be safe.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True)
class Given:
    """The GPUs that the options name."""

    states: tuple[GpuState, ...]
    warnings: tuple[str, ...]
    targets: dict[int, Request]


def given_node(
    gpus: Sequence[str],
    listings: Sequence[str],
    haves: Sequence[str],
    node_file: str | None,
    driver: str | None,
    listed_idle: bool,
) -> Given:
    """Return the GPUs that the options name, in order; raises InputError where they do not agree."""
    from migopt.mig.node import named_gpu, read_node
    from migopt.mig.state import BUSY, IDLE, GpuState

    unknown = IDLE if listed_idle else BUSY
    if node_file is not None and (gpus or listings):
        raise InputError("--node excludes --gpu and --gpu-listing")
    if node_file is None and not gpus and not listings:
        raise InputError("no GPU is given; use --gpu, --gpu-listing or --node")
    if listings and len(gpus) > 1:
        raise InputError("with --gpu-listing give --gpu once, or not at all")
    states: list[GpuState] = []
    warnings: list[str] = []
    targets: dict[int, Request] = {}
    if node_file is not None:
        node = read_node(node_file)
        told = node.states(jobs_unknown=unknown)
        states, warnings, targets = list(told.states), list(told.warnings), node.targets()
        states = [replace(s, model=_driven(s.model, driver)) for s in states]
        if node.listing is not None and not listed_idle and not haves:
            warnings += _assumed(states, node.listing.processes is not None)
    elif listings:
        table = named_gpu(gpus[0]) if gpus else None
        for path in listings:
            node = read_node(path)
            told = node.states(table, unknown)
            states += [replace(s, model=_driven(s.model, driver)) for s in told.states]
            warnings += told.warnings
            if node.listing is not None and not listed_idle and not haves:
                warnings += _assumed(told.states, node.listing.processes is not None)
    else:
        states = [GpuState(named_gpu(name, driver)) for name in gpus]
    if len(listings) != 1 and node_file is None:
        states = [replace(state, label=str(i)) for i, state in enumerate(states)]
    return Given(tuple(_with_have(states, haves)), tuple(dict.fromkeys(warnings)), targets)


def _driven(model: GpuModel, driver: str | None) -> GpuModel:
    from migopt.gpus import model_for_driver

    return model if driver is None else model_for_driver(model, driver)


def _assumed(states: Sequence[GpuState], told: bool) -> list[str]:
    if told or not any(state.of_state("busy") for state in states):
        return []
    return ["the listing does not tell which slices run jobs: all count as busy (--listed-idle)"]


def _with_have(states: list[GpuState], haves: Sequence[str]) -> list[GpuState]:
    from migopt.mig.state import parse_have

    if len(haves) > len(states):
        raise InputError(f"{len(haves)} --have for {len(states)} GPUs")
    for i, text in enumerate(haves):
        number, rest = numbered(text, i, states, "--have")
        state = states[number]
        slices = parse_have(rest, state.model, where="--have", synonyms=state.synonyms)
        states[number] = replace(state, slices=slices, blocked="")
    return states


def numbered(text: str, position: int, states: Sequence[GpuState], option: str) -> tuple[int, str]:
    """Split ``1=slices`` into a GPU's position and the rest; without a number it is ``position``.

    The number is the one that answers and files use: the label.
    """
    from migopt.mig.state import gpu_numbers

    known = gpu_numbers(states)
    match = _NUMBERED.match(text)
    if match is None:
        if position >= len(known):
            raise InputError(f"{option}: {position + 1} of them for {len(known)} GPUs")
        return position, text
    if int(match[1]) not in known:
        exist = ", ".join(map(str, known))
        raise InputError(f"{option}: there is no GPU {match[1]}; there are {exist}")
    return known.index(int(match[1])), match[2]


def gpu_label(state: GpuState) -> int | str:
    """Return a GPU's label for JSON, a number where it is one."""
    return int(state.label) if state.label.isdecimal() else state.label


def reason_document(reason: Reason | None) -> dict[str, Any] | None:
    """Return a reason as JSON."""
    if reason is None:
        return None
    return {
        "rule": reason.rule,
        "conflict": list(reason.conflict),
        "conflict_smallest": reason.smallest,
        "message": reason.message,
        "instead": list(reason.instead),
        "moves": [{"gpu": gpu, "from": old, "to": new} for gpu, old, new in reason.moves],
    }


def reason_text(reason: Reason) -> str:
    """Return a reason for people."""
    lines = [f"impossible: {reason.message}", f"  rule: {reason.rule}"]
    lines.append(f"  conflict: {', '.join(reason.conflict)}")
    if reason.instead:
        lines.append(f"  would fit: {', '.join(reason.instead)}")
    return "\n".join(lines)


def warn(warnings: Sequence[str]) -> None:
    """Print warnings on stderr."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
