"""From settings to a trained policy in a folder, resumable at any time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from migopt.errors import InputError, MissingExtraError
from migopt.rl.config import DqnConfig
from migopt.rl.days import make_days, split_of, split_record
from migopt.rl.points import Point
from migopt.schedulers.learned.checkpoint import load_policy

POLICY, RESUME = "policy.safetensors", "resume.safetensors"
#: Called with decisions so far and, where one was reached, a point of the curve.
Progress = Callable[[int, Point | None], None]


def train_dqn(
    config: DqnConfig,
    folder: Path,
    *,
    restart: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a policy; a run that was killed goes on where it was last saved, with the same result.

    Parameters
    ----------
    config : DqnConfig
    folder : Path
        Gets ``policy.safetensors``, ``curve.csv``, and while it runs ``resume.safetensors``.
    restart : bool
        Forget what is there and begin anew.
    progress : callable, optional

    Returns
    -------
    dict
        Decisions, gradient steps, costs on the validation days, seconds of this call, the files.

    Raises
    ------
    MissingExtraError
        torch is not installed.
    InputError
        Bad settings, or the folder holds another or a finished run.
    """
    try:
        from migopt.rl.dqn import DqnRun
    except ImportError:
        raise MissingExtraError("torch", "rl", "training") from None
    from migopt.rl.episodes import kernel_rule
    from migopt.rl.resume import load_run, save_run
    from migopt.rl.writers import writers

    begin = time.perf_counter()
    kernel_rule(config.dispatch)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"is no folder to write to ({error.strerror})", source=str(folder)
        ) from None
    policy, resume = folder / POLICY, folder / RESUME
    if restart:
        resume.unlink(missing_ok=True)
        policy.unlink(missing_ok=True)
    if policy.exists() and not resume.exists() and _is_finished(policy):
        raise InputError("holds a finished run; begin anew with --restart", source=str(folder))
    split = split_of(config)
    training = make_days(config.scenario, split.training)
    validation = make_days(config.scenario, split.validation)
    record = split_record(split, training, validation)
    run = DqnRun(config, training, validation)
    curve = load_run(run, record, resume) if resume.exists() else []
    taking = writers(folder, curve)
    saved = time.perf_counter()
    try:
        for point in run.points():
            if point is not None:
                curve.append(point)
                run.save(policy, record)
                for writer in taking:
                    writer.write(point)
            if progress is not None:
                progress(run.steps, point)
            if time.perf_counter() - saved > config.save_every_s:
                save_run(run, curve, record, resume)
                saved = time.perf_counter()
    except KeyboardInterrupt:
        save_run(run, curve, record, resume)
        raise
    resume.unlink(missing_ok=True)
    return {
        "policy": str(policy),
        "curve": str(folder / "curve.csv"),
        "decisions": run.steps,
        "updates": run.learner.updates,
        "validation_cost": run.best_cost,
        "split": record["digest"],
        "wall_s": time.perf_counter() - begin,
    }


def _is_finished(policy: Path) -> bool:
    """Return whether a folder's policy is the last one of its run; one killed early has no file to go on from."""
    try:
        header = load_policy(policy).header
        return bool(header["steps"] >= header["config"]["steps"])
    except (InputError, KeyError, TypeError):
        return True
