"""One time limit for a whole run, and Ctrl-C as a question that can be asked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from migopt.interrupt import CtrlC, ctrl_c


class Clock:
    """When a run must end, and whether it was told to stop.

    Attributes
    ----------
    began : float
        Start, in seconds of ``time.perf_counter``.
    deadline : float
    """

    def __init__(self, seconds: float) -> None:
        self.began = time.perf_counter()
        self.deadline = self.began + seconds
        self._noted = CtrlC()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._noted.pressed

    @interrupted.setter
    def interrupted(self, pressed: bool) -> None:
        self._noted.pressed = pressed

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
        with ctrl_c(self._noted):
            yield

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Let Ctrl-C raise within; what comes out of the block then ends there."""
        self._noted.raises = True
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._noted.raises = False
