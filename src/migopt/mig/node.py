"""Files that describe a node: a ``migopt-node`` document, or the text of its listings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migopt.errors import InputError
from migopt.gpus import load_gpu, load_gpu_file, model_for_driver
from migopt.mig.formats.listing import Listing, parse_listing, read_text
from migopt.mig.formats.yaml_file import mapping, only_keys, read_yaml, sequence
from migopt.mig.listed import ListedNode, states_from_listing
from migopt.mig.state import BUSY, GpuState, Request, parse_have, parse_request
from migopt.model import GpuModel

_KEYS = {"gpu", "have", "target", "mig", "label", "driver"}


@dataclass(frozen=True)
class NodeRow:
    """A GPU of a node document, its slices not yet judged."""

    gpu: str
    model: GpuModel
    label: str
    mig: bool
    have: str
    target: str | None
    where: str


@dataclass(frozen=True)
class Node:
    """What a node file says: rows of a document, or a listing."""

    source: str
    rows: tuple[NodeRow, ...] = ()
    listing: Listing | None = None

    def states(self, gpu: GpuModel | None = None, jobs_unknown: str = BUSY) -> ListedNode:
        """Return the GPUs; raises InputError for slices that cannot exist."""
        if self.listing is not None:
            return states_from_listing(self.listing, gpu=gpu, jobs_unknown=jobs_unknown)
        return ListedNode(
            tuple(
                GpuState(
                    row.model,
                    parse_have(row.have, row.model, where=f"{self.source}: {row.where}.have"),
                    row.label,
                    row.mig,
                )
                for row in self.rows
            )
        )

    def targets(self) -> dict[int, Request]:
        """Return the targets that a document gives, by position."""
        return {
            i: parse_request(row.target, where=f"{self.source}: {row.where}.target")
            for i, row in enumerate(self.rows)
            if row.target is not None
        }


def named_gpu(name: str, driver: str | None = None) -> GpuModel:
    """Return a GPU by key, product name or table file, as a driver sees it."""
    model = load_gpu_file(name) if name.endswith(".toml") else load_gpu(name)
    return model if driver is None else model_for_driver(model, driver)


def read_node(path: str | Path) -> Node:
    """Read a node file; raises InputError with the place for anything else.

    A document is YAML or JSON: ``format: migopt-node``, ``version: 1``, and ``gpus``, a list of
    ``gpu`` (key, product name or table file), and optionally ``have``, ``target``, ``mig``,
    ``label``, ``driver``. Any other text must be one of the listings of ``nvidia-smi``.
    """
    return parse_node(read_text(path), source=str(path))


def parse_node(text: str, *, source: str = "") -> Node:
    """Read the text of a node file; raises InputError as ``read_node`` does."""
    if "migopt-node" not in text:
        return Node(source, listing=parse_listing(text, source=source))
    document = mapping(read_yaml(text, source=source), "", source)
    only_keys(document, {"format", "version", "gpus"}, "", source)
    if document.get("format") != "migopt-node" or document.get("version") != 1:
        raise InputError("must say format: migopt-node and version: 1", source=source)
    rows = sequence(document.get("gpus"), "gpus", source)
    if not rows:
        raise InputError("names no GPU", where="gpus", source=source)
    return Node(source, tuple(_row(row, i, source) for i, row in enumerate(rows)))


def _row(value: Any, number: int, source: str) -> NodeRow:
    where = f"gpus[{number}]"
    row = mapping(value, where, source)
    only_keys(row, _KEYS, where, source)
    name = row.get("gpu")
    if not isinstance(name, str):
        raise InputError("has no gpu", where=where, source=source)
    mig = row.get("mig", True)
    if not isinstance(mig, bool):
        raise InputError("must be true or false", where=f"{where}.mig", source=source)
    try:
        driver = row.get("driver")
        model = named_gpu(name, None if driver is None else str(driver))
    except InputError as error:
        raise InputError(error.message, where=where, source=source) from None
    target = row.get("target")
    return NodeRow(
        name,
        model,
        str(row.get("label", number)),
        mig,
        _slices(row.get("have", ""), f"{where}.have", source),
        None if target is None else _slices(target, f"{where}.target", source),
        where,
    )


def _slices(value: Any, where: str, source: str) -> str:
    if isinstance(value, str):
        return value
    items: Sequence[Any] = sequence(value, where, source) if value is not None else []
    for item in items:
        if not isinstance(item, str):
            raise InputError(
                f"must be text such as 3g.20gb@4, not {item!r}", where=where, source=source
            )
    return ",".join(items)
