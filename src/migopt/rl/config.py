"""Settings of a training run: one dataclass is command line, file and checkpoint header."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from migopt.errors import InputError, nearest_hint

#: Seeds below this are held out: no training run may use them.
FIRST_TRAINING_SEED = 1_000_000
#: Seeds from this one on serve to choose among networks of a training run.
FIRST_VALIDATION_SEED = 2_000_000


def setting(default: Any, help: str, least: float | None = None, most: float | None = None) -> Any:
    """Return a field with its help and limits."""
    return field(default=default, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True)
class DqnConfig:
    """Settings of ``migopt train dqn``; the help of each is the command line's."""

    scenario: str = setting("s0-tight", "Scenario of the days, as `migopt generate` takes it.")
    dispatch: str = setting("edf_ss_restricted", "Dispatch rule that runs the jobs.")
    seed: int = setting(0, "Seed of everything random in the run.", 0)
    days: int = setting(300, "Training days (seeds from 1000000 on).", 1, 900_000)
    validation_days: int = setting(30, "Days that choose the network (seeds from 2000000 on).", 1)
    layout: str = setting(
        "forecast", "What the network sees: paper, paper-binned, queue, forecast."
    )
    jobs: int = setting(3, "How many jobs a state lists (the paper's m).", 0, 64)
    first: int = setting(2, "Catalogue number of the partition at time 0.", 1)
    network: str = setting(
        "shared", "mlp: a value per partition; shared: asked once per partition."
    )
    slack: float = setting(
        0.3, "Partitions forecast to cost this much more than the cheapest are not considered.", 0
    )
    hidden: tuple[int, ...] = setting((64, 64), "Sizes of the hidden layers.")
    double: bool = setting(False, "Double DQN: the network chooses, the target values.")
    dueling: bool = setting(True, "Dueling head: value plus advantages.")
    compare: int = setting(
        6, "Partitions tried from each state under the same arrivals; 1: plain DQN.", 1
    )
    compare_arrivals: int = setting(4, "Jobs that come during a comparison, before Q is asked.", 1)
    compare_spread: float = setting(
        1.0, "Noise in the choice of the others to try, in units of Q.", 0
    )
    n_step: int = setting(1, "Rewards in a target before it bootstraps.", 1, 64)
    discount_min: float = setting(15.0, "A cost t minutes ahead counts e^(-t / this).", 1e-3)
    steps: int = setting(48_000, "Decisions in all.", 1)
    episodes: int = setting(64, "Days stepped together.", 1, 4096)
    steps_per_update: float = setting(16.0, "Decisions per gradient step.", 0.01)
    batch: int = setting(512, "Decisions in a gradient step.", 1)
    buffer: int = setting(90_000, "Decisions that replay remembers.", 1)
    learn_start: int = setting(6_000, "Decisions before the first gradient step.", 0)
    learning_rate: float = setting(2e-4, "Of Adam, at the beginning.", 0)
    final_learning_rate: float = setting(5e-6, "Of Adam, at the end; linear between.", 0)
    huber: float = setting(20.0, "Error beyond which the loss is linear, in units of Q.", 1e-6)
    value_weight: float = setting(
        0.0, "With comparisons, weight of their mean error; 0: only differences are learned.", 0
    )
    clip: float = setting(10.0, "Greatest norm of a gradient.", 0)
    target_every: int = setting(500, "Gradient steps between copies to the target network.", 1)
    average: float = setting(0.998, "Weight of the past in the averaged network that plays.", 0, 1)
    epsilon_start: float = setting(0.1, "Share of random decisions at the beginning.", 0, 1)
    epsilon_end: float = setting(0.05, "The same at the end of its schedule.", 0, 1)
    epsilon_share: float = setting(0.4, "Part of the run over which it falls, linearly.", 0, 1)
    validate_every: int = setting(8_000, "Decisions between validations.", 1)
    save_every_s: float = setting(60.0, "Seconds between files to resume from.", 0)

    def __post_init__(self) -> None:
        """Refuse values of a wrong type or beyond their limits."""
        from migopt.schedulers.learned.network import KINDS
        from migopt.schedulers.learned.view import LAYOUTS

        for item in fields(self):
            value = getattr(self, item.name)
            _refuse_type(item.name, value, item.default)
            _refuse_limits(item.name, value, item.metadata)
        _refuse_name("layout", self.layout, LAYOUTS)
        _refuse_name("network", self.network, KINDS)
        if not all(size >= 1 for size in self.hidden):
            raise InputError(f"sizes must be at least 1, not {self.hidden}", where="hidden")
        if self.compare > 1 and self.n_step > 1:
            raise InputError("several partitions are compared over one step only", where="n_step")
        if self.buffer < self.episodes:
            raise InputError(
                f"must hold a decision of each of {self.episodes} episodes, not {self.buffer}",
                where="buffer",
            )
        if self.days > FIRST_VALIDATION_SEED - FIRST_TRAINING_SEED:
            raise InputError("training days would reach the validation seeds", where="days")

    @property
    def bootstraps(self) -> bool:
        """Whether targets ask the target network; otherwise forecasts alone value what follows."""
        return self.compare == 1 or self.value_weight > 0

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a document."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, source: str = "") -> DqnConfig:
        """Read settings; names that are not given keep their default; raises InputError."""
        known = {item.name: item for item in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in document.items():
            if name not in known:
                raise InputError(f"no setting {name!r}{nearest_hint(name, known)}", source=source)
            default = known[name].default
            if isinstance(default, float) and type(value) is int:
                value = float(value)
            values[name] = tuple(value) if isinstance(value, list) else value
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(error.message, where=error.where, source=source) from None

    @classmethod
    def from_file(cls, path: Path) -> DqnConfig:
        """Read a TOML file of settings; raises InputError."""
        return cls.from_dict(read_toml(path), source=str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; raises InputError with the place of a fault."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot be read: {error}", source=str(path)) from None


def _refuse_type(name: str, value: Any, default: Any) -> None:
    assert default is not MISSING
    good = type(value) is type(default)
    if isinstance(default, tuple):
        good = good and all(type(item) is int for item in value)
    if not good:
        raise InputError(f"must be of type {type(default).__name__}, not {value!r}", where=name)


def _refuse_name(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"there is no {value!r}{nearest_hint(value, known)}", where=name)


def _refuse_limits(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    least, most = limits["least"], limits["most"]
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"must be a finite number, not {value:g}", where=name)
    if least is not None and not value >= least:
        raise InputError(f"must be at least {least:g}, not {value:g}", where=name)
    if most is not None and not value <= most:
        raise InputError(f"must be at most {most:g}, not {value:g}", where=name)
