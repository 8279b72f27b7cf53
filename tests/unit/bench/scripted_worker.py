"""A worker that follows the protocol and does what the spec of a run says; for runner tests.

Specs: ``ok``, ``skip``, ``fail``, ``hang``, ``abort`` (dies by a signal), ``exit:3``, ``nap:0.2``,
``spawn`` (leaves a child that keeps the pipe open, and dies), ``garble`` (prints before it works).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def answer(spec: str) -> dict[str, object]:
    """Return the record fields for a spec, or never return."""
    what, _, argument = spec.partition(":")
    if what == "hang":
        print("going to hang", file=sys.stderr, flush=True)
        time.sleep(1000)
    if what == "abort":
        print("about to abort", file=sys.stderr, flush=True)
        os.abort()
    if what == "exit":
        os._exit(int(argument))
    if what == "spawn":
        child = [sys.executable, "-c", "import time; time.sleep(1000)"]
        subprocess.Popen(child, stdout=1, close_fds=False)
        os._exit(4)
    if what == "nap":
        time.sleep(float(argument))
    if what == "skip":
        return {"status": "skipped", "reason": "not for this instance"}
    if what == "fail":
        return {"status": "failed", "reason": "ValueError: no"}
    return {"status": "ok", "upper": 2.0, "digest": "d", "claims": "heuristic", "wall_s": 0.0}


def main() -> None:
    """Answer until stdin ends."""
    if "--broken" in sys.argv:
        print("no module named anything", file=sys.stderr)
        sys.exit(1)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        run = json.loads(line)
        print(json.dumps({"key": run["key"], "fields": answer(run["spec"])}), flush=True)


if __name__ == "__main__":
    main()
