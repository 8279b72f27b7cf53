"""Options and notation that all ``migopt mig`` commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from migopt.model import GpuModel, Placement

F = TypeVar("F", bound=Callable[..., Any])


def gpu_options(function: F) -> F:
    """Add ``--gpu`` and ``--driver``; ``gpu_model`` turns their values into a GpuModel."""
    driver = click.option(
        "--driver",
        metavar="VERSION",
        help="Judge as this driver does, for example 470; default: the newest.",
    )
    gpu = click.option(
        "--gpu",
        required=True,
        metavar="GPU",
        help="Key or product name (`migopt gpus list`), or a GPU table of yours (FILE.toml).",
    )
    return gpu(driver(function))


def gpu_model(gpu: str, driver: str | None) -> GpuModel:
    """Return the GPU model that the shared options name."""
    from migopt.gpus import load_gpu, load_gpu_file, model_for_driver

    model = load_gpu_file(gpu) if gpu.endswith(".toml") else load_gpu(gpu)
    return model if driver is None else model_for_driver(model, driver)


def places(placements: Iterable[Placement]) -> list[dict[str, Any]]:
    """Return placements as JSON objects."""
    return [{"profile": place.profile, "start": place.start} for place in placements]
