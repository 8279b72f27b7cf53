"""States and plans drawn as bars of slices: SVG, and one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from migopt.errors import InputError
from migopt.mig.place import PlaceAnswer
from migopt.mig.plan import CREATE_STEP, PlanAnswer
from migopt.mig.state import BUSY, GpuState
from migopt.model import Partition, Placement
from migopt.placement.draw import bars_svg


def placed_svg(states: Sequence[GpuState], answer: PlaceAnswer) -> str:
    """Return the GPUs before and after ``place``; busy slices have a strong frame."""
    finals = [
        Partition((*state.partition, *(p.placement for p in answer.placements if p.gpu == i)))
        for i, state in enumerate(states)
    ]
    return _before_after(states, finals)


def plan_svg(states: Sequence[GpuState], answer: PlanAnswer) -> str:
    """Return every GPU of a plan before and after it; busy slices have a strong frame."""
    return _before_after(states, answer.finals)


def _before_after(states: Sequence[GpuState], finals: Sequence[Partition]) -> str:
    rows = []
    for state, final in zip(states, finals, strict=True):
        busy = frozenset(state.of_state(BUSY))
        rows.append((state.model, f"GPU {state.label} now", state.partition, busy))
        if final != state.partition:
            rows.append((state.model, "then", final, busy & frozenset(final)))
    return bars_svg(rows)


def steps_svg(states: Sequence[GpuState], answer: PlanAnswer) -> str:
    """Return one bar per step of a plan, so that each state in between is seen."""
    present: list[set[Placement]] = [set(state.partition) for state in states]
    rows = [
        (s.model, f"GPU {s.label} now", s.partition, frozenset(s.of_state(BUSY))) for s in states
    ]
    for number, step in enumerate(answer.steps, 1):
        state, here = states[step.gpu], present[step.gpu]
        (here.add if step.op == CREATE_STEP else here.remove)(step.placement)
        busy = frozenset(state.of_state(BUSY)) & here
        rows.append((state.model, f"{number}: GPU {state.label}", Partition(tuple(here)), busy))
    return bars_svg(rows)


def plan_html(states: Sequence[GpuState], answer: PlanAnswer) -> str:
    """Return a page with the drawing of a plan, its steps and its counts."""
    steps = "".join(
        f"<li>GPU {escape(states[s.gpu].label)}: {s.op} <code>{escape(str(s.placement))}</code>"
        f"{' (busy)' if s.was == BUSY else ''}</li>"
        for s in answer.steps
    )
    counts = (
        f"{answer.destroys} destroyed, {answer.creates} created, {answer.moves} moved, "
        f"{'proved minimal' if answer.proved_minimal else 'not proved minimal'}"
    )
    verdict = counts if answer.reason is None else f"impossible: {answer.reason.message}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Plan</title>'
        "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto}</style></head><body>"
        f"<h1>Plan</h1><p>{escape(verdict)}</p><figure>{plan_svg(states, answer)}</figure>"
        f"<h2>Steps</h2><ol>{steps}</ol><figure>{steps_svg(states, answer)}</figure></body></html>\n"
    )


def write_drawing(path: str, text: str) -> None:
    """Write a drawing; raises InputError where that fails."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=path) from None
