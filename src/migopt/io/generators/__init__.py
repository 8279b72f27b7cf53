"""Scenario families: one file each, whose stem (with ``-`` for ``_``) is the family's name.

A family defines ``Parameters`` (a pydantic model) and ``Workload(parameters)``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from migopt.errors import UnknownNameError
from migopt.io._options import check_options, option_table
from migopt.io.generators._parameters import ScenarioParameters
from migopt.io.generators._streams import Seed
from migopt.io.generators._workload import build, stored_weight, stored_weights
from migopt.model import Instance

__all__ = [
    "check_parameters",
    "generate",
    "generator_names",
    "parameter_table",
    "stored_weight",
    "stored_weights",
]


def generator_names() -> list[str]:
    """Return the names of all scenario families."""
    stems = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(stem.replace("_", "-") for stem in stems if not stem.startswith("_"))


def generate(name: str, *, seed: Seed, **parameters: Any) -> Instance:
    """Return one instance of a scenario family.

    Parameters
    ----------
    name : str
        A family, for example ``s0-slack``.
    seed : int or sequence of int
        Same name, seed and parameters: same instance, to the last bit.
    **parameters
        Any of ``parameter_table(name)``; numbers may be given as text.

    Raises
    ------
    InputError
        For an unknown name (with the nearest) or a value outside its limits.
    """
    module = _family(name)
    checked = check_options(module.Parameters, f"parameter of {name}", parameters)
    return build(name, checked, module.Workload(checked), seed)


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Raise the InputError that ``generate`` would raise, without generating anything."""
    check_options(_family(name).Parameters, f"parameter of {name}", parameters)


def parameter_table(name: str) -> list[dict[str, Any]]:
    """Return name, default, type and description of every parameter of a family."""
    model: type[ScenarioParameters] = _family(name).Parameters
    return option_table(model)


def _family(name: str) -> Any:
    if name not in generator_names():
        raise UnknownNameError("scenario", name, generator_names())
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
