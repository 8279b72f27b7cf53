"""Shared by all tests: this folder is importable, so that ``factories`` is found from anywhere."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from factories import A100, make_instance, make_job
from migopt.model import GpuModel, Instance

REPOSITORY = Path(__file__).resolve().parents[1]

# Examples are the same on every run, and a slow shared machine is no failure.
settings.register_profile("migopt", deadline=None, derandomize=True)
settings.load_profile("migopt")

# Started in the background, a shell has interrupts ignored; commands under test must not inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def a100() -> GpuModel:
    """A100-40GB, written out by hand."""
    return A100


@pytest.fixture
def two_jobs() -> Instance:
    """One A100 and two linear jobs of 28 s and 12 s (on 1g), both released at 0."""
    return make_instance(make_job(0, ms=28_000), make_job(1, ms=12_000))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"reference data are not at {folder}")
    return folder
