"""Ctrl-C ends a solver with the best so far, whatever engine runs just then."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from migopt.api import solve
from migopt.interrupt import CtrlC, ctrl_c
from migopt.io.generators import generate
from migopt.results import Budget, StopReason


def _press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_is_noted_and_the_second_raises():
    """Inside nested blocks one Ctrl-C is noted for all of them; the next one raises; outside it does at once."""
    with ctrl_c() as outer, ctrl_c() as inner:
        assert inner is outer
        _press()
        assert outer.pressed
        with pytest.raises(KeyboardInterrupt):
            _press()
    with pytest.raises(KeyboardInterrupt):
        _press()


def test_a_raising_block_notes_as_well():
    """With ``raises`` the first Ctrl-C raises, and is noted for those who come after."""
    noted = CtrlC(raises=True)
    with pytest.raises(KeyboardInterrupt), ctrl_c(noted):
        _press()
    assert noted.pressed


def test_other_handlers_and_threads_are_left_alone():
    """Where somebody handles Ctrl-C, or outside the main thread, nothing is installed."""
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append("own"))
    try:
        with ctrl_c() as noted:
            _press()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["own"]
    assert not noted.pressed

    def inside():
        with ctrl_c() as noted:
            seen.append(noted.pressed)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen[-1] is False


@pytest.mark.parametrize(
    ("spec", "jobs"),
    [
        ("interval_milp", 9),
        ("cpsat", 9),
        ("slot_milp", 9),
        ("slot_cpsat:slots=40", 9),
        ("split_bound", 60),
        ("day_plan", 60),
    ],
)
def test_every_solver_keeps_its_best(spec, jobs):
    """Ctrl-C after the first second of sixty: the run ends soon, says why, and has a bound or a schedule."""
    instance = generate("s0-tight", seed=3, jobs=jobs, load=1.2)
    solve(
        generate("s0-tight", seed=1, jobs=2, load=0.9), spec, budget=Budget(0.5)
    )  # loads the engine
    timer = threading.Timer(1.0, _press)
    began = time.perf_counter()
    timer.start()
    answer = solve(instance, spec, budget=Budget(60.0))
    timer.cancel()
    assert answer.result.stop is StopReason.INTERRUPTED
    assert answer.claim_error == ""
    assert answer.upper is not None or answer.lower is not None
    assert time.perf_counter() - began < 30.0
