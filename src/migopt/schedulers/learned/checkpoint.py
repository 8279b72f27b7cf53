"""Files of trained policies: safetensors with a JSON header; nothing in them is ever executed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from migopt.errors import InputError, NotApplicableError, UnknownNameError
from migopt.model import Instance
from migopt.schedulers.learned.network import Encoder, Network
from migopt.schedulers.learned.view import View, refuse_many

FORMAT = "migopt-policy"
VERSION = 1


@dataclass(frozen=True)
class LearnedPolicy:
    """A trained policy as it is read from its file.

    Attributes
    ----------
    network : Network
    encoder : Encoder
    first : int
        Catalogue number of the partition at time 0.
    catalogue : Mapping
        GPU and partitions it was trained for, see ``catalogue_of``.
    header : Mapping
        Everything else that the file says: scenario, settings, split of seeds, results.
    """

    network: Network
    encoder: Encoder
    first: int
    catalogue: Mapping[str, Any]
    header: Mapping[str, Any]

    def refuse_other(self, instance: Instance) -> None:
        """Raise NotApplicableError unless the policy was trained for the instance's GPU and catalogue."""
        refuse_many(instance)
        if instance.repartition.scope == "never":
            raise NotApplicableError("dqn: the instance allows no repartition (scope never)")
        found = catalogue_of(instance)
        if found["digest"] != self.catalogue["digest"]:
            raise NotApplicableError(
                f"dqn: trained for catalogue {self.catalogue['name']} of {self.catalogue['gpu']},"
                f" not for {found['name']} of {found['gpu']}"
            )


def catalogue_of(instance: Instance) -> dict[str, Any]:
    """Return what a policy must agree with: GPU, name, partitions in order, and their digest."""
    catalogue = instance.catalogue(0)
    partitions = [str(partition) for partition in catalogue]
    gpu = instance.gpus[0].key
    text = json.dumps([gpu, partitions], separators=(",", ":"))
    digest = sha256(text.encode()).hexdigest()
    return {"gpu": gpu, "name": catalogue.name, "partitions": partitions, "digest": digest}


def shipped_policies() -> list[str]:
    """Return the names of the policies that ship with migopt."""
    folder = files("migopt.schedulers.learned") / "policies"
    if not folder.is_dir():
        return []
    names = [item.name for item in folder.iterdir()]
    return sorted(name.removesuffix(".safetensors") for name in names if "safetensors" in name)


def find_policy(name: str) -> Path:
    """Return the file of a shipped policy, or the path itself; raises UnknownNameError."""
    known = shipped_policies()
    if name in known:
        return Path(str(files("migopt.schedulers.learned") / "policies" / f"{name}.safetensors"))
    if name.endswith(".safetensors") or "/" in name:
        if not Path(name).is_file():
            raise InputError(f"there is no policy file {name}")
        return Path(name)
    raise UnknownNameError("policy", name, known)


def save_policy(path: Path, network: Network, header: Mapping[str, Any]) -> None:
    """Write a policy; ``header`` holds view, unit, first, catalogue, and what else shall be known."""
    from safetensors.numpy import save

    tensors = {}
    for number, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        tensors[f"{number}.weight"] = np.ascontiguousarray(weight, np.float32)
        tensors[f"{number}.bias"] = np.ascontiguousarray(bias, np.float32)
    document = {"format": FORMAT, "version": VERSION, **header}
    content = save(tensors, {"migopt": json.dumps(document, sort_keys=True)})
    waiting = path.with_name(path.name + ".part")
    waiting.write_bytes(content)
    waiting.replace(path)


def load_policy(path: Path) -> LearnedPolicy:
    """Read a policy; raises InputError, in one line, for anything that is not one of this version."""
    header, tensors = read_safetensors(path)
    source = str(path)
    document = _document(header.get("migopt"), source)
    try:
        view = View.from_dict(document["view"])
        encoder = Encoder(
            view, float(document["unit"]), str(document["network"]), float(document["slack"])
        )
        first, catalogue = int(document["first"]), dict(document["catalogue"])
        listed = len(catalogue["partitions"])
        _ = (str(catalogue["digest"]), str(catalogue["name"]), str(catalogue["gpu"]))
    except InputError as error:
        raise InputError(error.message, source=source) from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"its header is incomplete ({error!r})", source=source) from None
    numbers = 0 < encoder.unit < math.inf and encoder.slack >= 0
    if listed != view.actions or not 1 <= first <= listed or not numbers:
        raise InputError("its header contradicts itself", source=source)
    outputs = view.actions if encoder.kind == "mlp" else 1
    network = _network(tensors, encoder.row_width, outputs, source)
    return LearnedPolicy(network, encoder, first, catalogue, document)


def read_safetensors(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray[Any, Any]]]:
    """Return the text header and the tensors of a safetensors file; raises InputError."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return dict(file.metadata() or {}), tensors
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise InputError(f"is no readable safetensors file ({error})", source=str(path)) from None


def _document(text: str | None, source: str) -> dict[str, Any]:
    try:
        document = json.loads(text or "null")
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("is no policy of migopt", source=source)
    if document.get("version") != VERSION:
        raise InputError(
            f"has version {document.get('version')!r}; this migopt reads version {VERSION}",
            source=source,
        )
    return document


def _network(
    tensors: dict[str, np.ndarray[Any, Any]], inputs: int, outputs: int, source: str
) -> Network:
    layers = len(tensors) // 2
    names = {f"{number}.{part}" for number in range(layers) for part in ("weight", "bias")}
    if not layers or set(tensors) != names:
        raise InputError("its tensors are not those of a network", source=source)
    weights = [tensors[f"{number}.weight"] for number in range(layers)]
    biases = [tensors[f"{number}.bias"] for number in range(layers)]
    width = inputs
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        fits = weight.ndim == 2 and weight.shape[1] == width and bias.shape == weight.shape[:1]
        if not fits or weight.dtype != np.float32 or bias.dtype != np.float32:
            raise InputError(
                f"layer {number} has shape {weight.shape} and {bias.shape}, not (…, {width}) in float32",
                source=source,
            )
        width = weight.shape[0]
    if width != outputs:
        raise InputError(f"its last layer has {width} outputs, not {outputs}", source=source)
    if not all(math.isfinite(float(array.sum())) for array in (*weights, *biases)):
        raise InputError("holds numbers that are not finite", source=source)
    return Network(tuple(weights), tuple(biases))
