"""Ctrl-C as a question: engines call back from compiled code, where an exception would get lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class CtrlC:
    """Whether Ctrl-C was ``pressed``, and whether the first one ``raises`` or is only noted."""

    pressed: bool = False
    raises: bool = False


_open: list[CtrlC] = []


@contextlib.contextmanager
def ctrl_c(noted: CtrlC | None = None) -> Iterator[CtrlC]:
    """Note the first Ctrl-C in the block, and raise if ``noted.raises`` says so; a second one always raises.

    A block inside another one, or where somebody else handles or ignores Ctrl-C, changes nothing and
    yields what the outer one notes; so does one outside the main thread.

    Parameters
    ----------
    noted : CtrlC, optional
        Where to note it.
    """
    main = threading.current_thread() is threading.main_thread()
    if _open or not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield _open[-1] if _open else CtrlC()
        return
    own = CtrlC() if noted is None else noted

    def handle(_number: int, _frame: object) -> None:
        again, own.pressed = own.pressed, True
        if again or own.raises:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    _open.append(own)
    try:
        yield own
    finally:
        _open.remove(own)
        signal.signal(signal.SIGINT, signal.default_int_handler)
