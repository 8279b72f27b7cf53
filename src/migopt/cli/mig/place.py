"""``migopt mig place``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option
from migopt.cli.mig._node import (
    given_node,
    gpu_label,
    node_options,
    reason_document,
    reason_text,
    warn,
)
from migopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from migopt.mig.place import PlaceAnswer
    from migopt.mig.state import GpuState, Request


@click.command(
    "place",
    epilog='Example: migopt mig place --gpu A100-40GB --have "4g.20gb@0:busy" --want "1g.5gb,1g.5gb". '
    "Exit code 0: possible, 1: impossible, 2: unusable input.",
)
@node_options
@click.option("--want", metavar="SLICES", default="", help='New slices, e.g. "1g.5gb:2,3g.20gb@4".')
@click.option(
    "--memory", "memories", multiple=True, metavar="SIZE",
    help="One more slice, the smallest that holds so much: bytes, or 21.1GiB, 20GB.",
)  # fmt: skip
@click.option("--svg", "svg_file", metavar="FILE", help="Draw the GPUs with the new slices.")
@json_option
def command(
    want: str, memories: tuple[str, ...], svg_file: str | None, as_json: bool, **node: Any
) -> None:
    """Find starts for new slices that leave the most room, or say why there are none.

    Slices that exist stay as they are, busy or idle; migopt mig plan may destroy idle ones.
    """
    from migopt.mig.place import place
    from migopt.mig.state import parse_request

    given = given_node(**node)
    request = parse_request(want, where="--want")
    answer, notes = _with_memory(given.states, request, memories)
    if answer is None:
        answer = place(given.states, request)
    warn(given.warnings)
    if svg_file is not None:
        from migopt.mig.draw import placed_svg, write_drawing

        write_drawing(svg_file, placed_svg(given.states, answer))
    if as_json:
        emit_json(_document(given.states, answer, (*given.warnings, *notes)))
    else:
        click.echo(_text(given.states, answer, notes))
    sys.exit(0 if answer.possible else EXIT_NEGATIVE)


def _with_memory(
    states: Sequence[GpuState], request: Request, memories: Sequence[str]
) -> tuple[PlaceAnswer | None, list[str]]:
    """Return the first answer that is possible when memory needs take the smallest profiles."""
    from itertools import product

    from migopt.mig.explain import Reason
    from migopt.mig.names import parse_bytes, smallest_for_memory
    from migopt.mig.place import PlaceAnswer, place
    from migopt.mig.state import Request

    if not memories:
        return None, []
    choices, notes = [], []
    for text in memories:
        need = parse_bytes(text, where="--memory")
        fits, small = smallest_for_memory(states, need)
        notes.append(
            f"{need} bytes: {', '.join(fits) or 'no profile'} large enough, "
            f"{', '.join(small) or 'none'} too small"
        )
        if not fits:
            reason = Reason("memory_bytes", (text,), f"no profile holds {need} bytes")
            return PlaceAnswer(False, reason=reason), notes
        choices.append(fits)
    if sum(map(len, choices)) > 40:
        raise InputError("too many --memory; at most about 8")
    first = None
    ordered = sorted(
        product(*(range(len(names)) for names in choices)), key=lambda picks: (sum(picks), picks)
    )
    for picks in ordered:
        names = tuple(names[i] for names, i in zip(choices, picks, strict=True))
        answer = place(states, Request(request.fixed, (*request.free, *names)))
        if answer.possible:
            return answer, notes
        first = first or answer
    return first, notes


def _document(
    states: Sequence[GpuState], answer: PlaceAnswer, warnings: Sequence[str]
) -> dict[str, Any]:
    return {
        "possible": answer.possible,
        "placements": [
            {
                "gpu": gpu_label(states[placed.gpu]),
                "profile": placed.placement.profile,
                "start": placed.placement.start,
                "id": states[placed.gpu].model.profile(placed.placement.profile).driver_id,
                "memory_units": states[placed.gpu].model.profile(placed.placement.profile).memory_units,
            }
            for placed in answer.placements
        ],
        "reason": reason_document(answer.reason),
        "proved": answer.proved,
        "orphans": [
            {"gpu": gpu_label(s), "profile": p.profile, "start": p.start}
            for s in states
            for p in s.of_state("orphan")
        ],
        "warnings": list(warnings),
    }  # fmt: skip


def _text(states: Sequence[GpuState], answer: PlaceAnswer, notes: Sequence[str]) -> str:
    lines = list(notes)
    if answer.reason is not None:
        return "\n".join([*lines, reason_text(answer.reason)])
    lines.append("possible")
    for placed in answer.placements:
        state = states[placed.gpu]
        profile = state.model.profile(placed.placement.profile)
        last = placed.placement.start + profile.memory_units - 1
        units = (
            f"unit {last}"
            if profile.memory_units == 1
            else f"units {placed.placement.start}-{last}"
        )
        lines.append(
            f"  GPU {state.label} ({state.model.key}): {placed.placement}, memory {units}"
            + (f", profile id {profile.driver_id}" if profile.driver_id is not None else "")
        )
    return "\n".join(lines)
