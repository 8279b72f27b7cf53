"""Options and notation that all ``migopt mig`` commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from migopt.errors import InputError

if TYPE_CHECKING:
    from migopt.model import GpuModel, Placement

F = TypeVar("F", bound=Callable[..., Any])


def gpu_options(function: F) -> F:
    """Add ``--gpu``, ``--gpu-listing`` and ``--driver``, which ``gpu_model`` turns into a GpuModel."""
    driver = click.option(
        "--driver",
        metavar="VERSION",
        help="Judge as this driver does, for example 470; default: the newest.",
    )
    listing = click.option(
        "--gpu-listing",
        "listing",
        metavar="FILE",
        help="Instead: what the card prints about itself (nvidia-smi -L, mig -lgip, -lgipp).",
    )
    gpu = click.option(
        "--gpu",
        metavar="GPU",
        help="Key or product name (`migopt gpus list`), or a GPU table of yours (FILE.toml).",
    )
    return gpu(listing(driver(function)))


def gpu_model(gpu: str | None, driver: str | None, listing: str | None = None) -> GpuModel:
    """Return the GPU model that the shared options name."""
    from migopt.mig.node import named_gpu

    if listing is None:
        if gpu is None:
            raise InputError("no GPU is given; use --gpu or --gpu-listing")
        return named_gpu(gpu, driver)
    models = listed_models([listing], gpu, driver)
    if len(models) > 1:
        raise InputError(f"lists {len(models)} GPUs; one is asked about here", source=listing)
    return models[0]


def listed_models(listings: Iterable[str], gpu: str | None, driver: str | None) -> list[GpuModel]:
    """Return the GPUs that listings describe, whatever slices they have; ``gpu`` is their table."""
    from migopt.gpus import model_for_driver
    from migopt.mig.formats.listing import parse_listing, read_text
    from migopt.mig.listed import model_from_listing
    from migopt.mig.node import named_gpu

    table = None if gpu is None else named_gpu(gpu)
    models = []
    for path in listings:
        listing = parse_listing(read_text(path), source=path)
        numbers = listing.numbers or ([0] if table is not None else [])
        models += [model_from_listing(listing, number, table)[0] for number in numbers]
        if not numbers:
            raise InputError("names no GPU", source=path)
    return models if driver is None else [model_for_driver(model, driver) for model in models]


def places(placements: Iterable[Placement]) -> list[dict[str, Any]]:
    """Return placements as JSON objects."""
    return [{"profile": place.profile, "start": place.start} for place in placements]
