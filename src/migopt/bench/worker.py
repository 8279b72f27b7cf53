"""A worker process: run specs come in as JSON lines, results go out as JSON lines.

``python -P -m migopt.bench.worker FOLDER``. The runner starts it in a process group of its own and
kills the group at a run's hard limit. It ends by itself when the runner is gone.
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any, TextIO


def main() -> None:
    """Answer run specs until stdin ends."""
    answers = _claim_stdout()
    specs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(specs,), daemon=True).start()
    folder = Path(sys.argv[1])

    from migopt.bench.execute import InstanceCache, execute
    from migopt.bench.spec import RunSpec

    instances = InstanceCache()
    _say(answers, {"ready": True})
    while True:
        run = RunSpec.from_dict(json.loads(specs.get()))
        _say(answers, {"key": run.key, "fields": execute(run, folder, instances)})


def _claim_stdout() -> TextIO:
    """Keep the pipe to the runner apart, so that whatever a solver prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _listen(specs: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        specs.put(line)
    # The runner closed the pipe or died: end at once, with any processes that a solver started.
    if os.getpgid(0) == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message, default=_plain) + "\n")
    answers.flush()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


if __name__ == "__main__":
    main()
