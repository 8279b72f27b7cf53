"""Instance specs: a generator, a seed and parameters instead of a thousand jobs, with a digest.

A spec file is JSON::

    {"format": "migopt-spec", "version": 1, "generator": "s0-slack", "seed": 1,
     "parameters": {"gpus": 1}, "digest": "..."}

Reading it regenerates the instance; one whose digest differs from the stored one is refused, so that
a published figure always belongs to the jobs it was computed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from migopt.errors import InputError
from migopt.io import _document
from migopt.io._options import Options, check_options
from migopt.io._place import placed
from migopt.io.digest import instance_digest
from migopt.io.files import instance_from_dict
from migopt.io.generators import generate
from migopt.model import Instance

SPEC_FORMAT: Literal["migopt-spec"] = "migopt-spec"
_Seed = Annotated[int, Strict(), Field(ge=0)]


class InstanceSpec(Options):
    """What a spec file says."""

    format: Literal["migopt-spec"] = SPEC_FORMAT
    version: Literal[1] = 1
    generator: str
    seed: _Seed | list[_Seed]
    parameters: dict[str, Any] = Field(default_factory=dict)
    digest: str = Field(pattern="^[0-9a-f]{64}$")


def load(path: str | Path) -> Instance:
    """Return the instance that a file describes: an instance file or a spec, gzipped or not.

    Raises InputError, naming the file and the place in it, for a file that is neither, and for a
    spec that no longer regenerates to its digest.
    """
    with placed(source=str(path)):
        document = _document.load(path)
        if isinstance(document, dict) and document.get("format") == SPEC_FORMAT:
            return instance_from_spec(document)
        return instance_from_dict(document)


def instance_from_spec(document: Mapping[str, Any]) -> Instance:
    """Return the instance that the content of a spec file generates; InputError as ``load``."""
    spec = check_options(InstanceSpec, "key of a spec", document)
    with placed(where="parameters"):
        instance = generate(spec.generator, seed=spec.seed, **spec.parameters)
    digest = instance_digest(instance)
    if digest != spec.digest:
        raise InputError(
            f"{spec.generator} with seed {spec.seed} regenerates to {digest[:12]}…, not to the "
            f"stored {spec.digest[:12]}…: generator, GPU table or weight have changed",
            where="digest",
        )
    return instance


def spec_of(instance: Instance) -> dict[str, Any]:
    """Return the content of the spec file of a generated instance.

    Raises InputError for an instance that does not say how it was generated.
    """
    origin = instance.origin
    if "generator" not in origin:
        raise InputError("only a generated instance has a spec", where="origin")
    return {
        "format": SPEC_FORMAT,
        "version": 1,
        "generator": origin["generator"],
        "seed": origin["seed"],
        "parameters": {k: v for k, v in origin["parameters"].items() if v is not None},
        "digest": instance_digest(instance),
    }


def write_spec(instance: Instance, path: str | Path) -> None:
    """Write the spec file of a generated instance; raises InputError as ``spec_of``."""
    _document.store(spec_of(instance), path)
