"""Which days a learner may see, and a digest that says so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from migopt.io.digest import instance_digest
from migopt.model import Instance
from migopt.rl.config import FIRST_TRAINING_SEED, FIRST_VALIDATION_SEED, DqnConfig


@dataclass(frozen=True)
class Split:
    """Seeds for training, for choosing a network, and held out; no two share any.

    Attributes
    ----------
    training, validation, held_out : range
    """

    training: range
    validation: range
    held_out: range

    def as_dict(self) -> dict[str, Any]:
        """Return first and last seed of each part."""
        parts = {"training": self.training, "validation": self.validation}
        parts["held_out"] = self.held_out
        return {name: [seeds[0], seeds[-1]] for name, seeds in parts.items()}


def split_of(config: DqnConfig) -> Split:
    """Return the split of a run."""
    return Split(
        range(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + config.days),
        range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + config.validation_days),
        range(FIRST_TRAINING_SEED),
    )


def make_days(scenario: str, seeds: range) -> list[Instance]:
    """Generate one day per seed."""
    from migopt.io.generators import generate

    return [generate(scenario, seed=seed) for seed in seeds]


def split_record(
    split: Split, training: list[Instance], validation: list[Instance]
) -> dict[str, Any]:
    """Return the split with the digests of the days that were seen, and one digest of it all."""
    document: dict[str, Any] = {"seeds": split.as_dict()}
    for name, days in (("training", training), ("validation", validation)):
        digests = "".join(instance_digest(day) for day in days)
        document[f"{name}_days"] = sha256(digests.encode()).hexdigest()
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return document | {"digest": sha256(text.encode()).hexdigest()}
