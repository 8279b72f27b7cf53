"""Everything a training run is, in one safetensors file: a run that goes on from it is the same run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from migopt.errors import InputError
from migopt.rl.dqn import DqnRun
from migopt.rl.points import Point
from migopt.schedulers.learned.checkpoint import read_safetensors

FORMAT = "migopt-training"
VERSION = 1


def save_run(run: DqnRun, curve: Sequence[Point], split: dict[str, Any], path: Path) -> None:
    """Write a run between two rounds; the file appears at once or not at all."""
    from safetensors.numpy import save

    document = {
        "format": FORMAT,
        "version": VERSION,
        "config": run.config.as_dict(),
        "split": split,
        "counts": _counts(run),
        "choices": run.choices.bit_generator.state,
        "draws": run.draws.bit_generator.state,
        "curve": [asdict(point) for point in curve],
        "costs": run.costs,
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in _arrays(run).items()}
    tensors["replay"] = run.replay.rows.numpy()[: len(run.replay)]
    waiting = path.with_name(path.name + ".part")
    waiting.write_bytes(save(tensors, {"migopt": json.dumps(document)}))
    waiting.replace(path)


def load_run(run: DqnRun, split: dict[str, Any], path: Path) -> list[Point]:
    """Bring a fresh run to where a file left it; return the curve so far.

    Raises
    ------
    InputError
        The file is damaged, of another version, or of a run with other settings or days.
    """
    header, tensors = read_safetensors(path)
    source = str(path)
    document = _document(header, source)
    if document["config"] != run.config.as_dict():
        odd = [k for k, v in run.config.as_dict().items() if document["config"].get(k) != v]
        raise InputError(f"belongs to a run with other settings ({', '.join(odd)})", source=source)
    if document["split"] != split:
        raise InputError("belongs to a run on other days", source=source)
    arrays = _arrays(run)
    for name, array in arrays.items():
        found = tensors.get(name)
        if found is None or found.shape != array.shape or found.dtype != array.dtype:
            raise InputError(f"has no fitting {name}", source=source)
        array[...] = found
    replay = tensors["replay"]
    run.replay.rows[: len(replay)] = torch.from_numpy(replay)
    counts = document["counts"]
    run.steps, run.rounds, run.next_day = counts["steps"], counts["rounds"], counts["next_day"]
    run.error, run.best_cost = float(counts["error"]), float(counts["best_cost"])
    run.replay.added, run.learner.updates = counts["added"], counts["updates"]
    run.learner.adam.count = counts["adam"]
    run.choices.bit_generator.state = document["choices"]
    run.draws.bit_generator.state = document["draws"]
    run.costs = document["costs"]
    run.look_again()
    return [Point(**point) for point in document["curve"]]


def _document(header: dict[str, str], source: str) -> dict[str, Any]:
    try:
        document = json.loads(header.get("migopt", "null"))
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("is no training run of migopt", source=source)
    if document.get("version") != VERSION:
        raise InputError(
            f"has version {document.get('version')}; this migopt reads version {VERSION}",
            source=source,
        )
    return document


def _counts(run: DqnRun) -> dict[str, Any]:
    return {
        "steps": run.steps,
        "rounds": run.rounds,
        "next_day": run.next_day,
        "error": run.error,
        "best_cost": run.best_cost,
        "added": run.replay.added,
        "updates": run.learner.updates,
        "adam": run.learner.adam.count,
    }


def _arrays(run: DqnRun) -> dict[str, np.ndarray[Any, Any]]:
    """Return every array that changes during a run, by name; views, to be read or written."""
    learner = run.learner
    tensors = {
        "online": learner.online.flat,
        "target": learner.target.flat,
        "average": learner.average,
        "best": run.best,
        "adam.mean": learner.adam.mean,
        "adam.square": learner.adam.square,
    }
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    arrays |= {f"past.{name}": array for name, array in run.past.items()}
    arrays |= {f"episodes.{name}": array for name, array in run.playing.arrays.items()}
    return arrays
