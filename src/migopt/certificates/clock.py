"""One time limit for a whole run, and Ctrl-C as a question that can be asked."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any


class Clock:
    """When a run must end, and whether it was told to stop.

    Attributes
    ----------
    began : float
        Start, in seconds of ``time.perf_counter``.
    deadline : float
    interrupted : bool
        Whether Ctrl-C was pressed.
    raises : bool
        Whether Ctrl-C is to raise in the step that runs now (one that keeps its best when it does), or
        only to set ``interrupted`` (one that asks).
    """

    def __init__(self, seconds: float) -> None:
        self.began = time.perf_counter()
        self.deadline = self.began + seconds
        self.interrupted = False
        self.raises = False

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds to the deadline, 0 when it is over or after Ctrl-C."""
        return 0.0 if self.interrupted else max(0.0, self.deadline - time.perf_counter())

    def over(self) -> bool:
        """Return whether it is time to stop."""
        return self.left <= 0.0

    @contextlib.contextmanager
    def catching(self) -> Iterator[None]:
        """Turn the first Ctrl-C into ``interrupted``; the second one raises as ever."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(_number: int, _frame: Any) -> None:
            again = self.interrupted
            self.interrupted = True
            if again or self.raises:
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Let Ctrl-C raise within; what comes out of the block then ends there."""
        self.raises = True
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.raises = False
