"""``migopt train dqn``: settings from file and options, a policy that plays, one-line errors."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from migopt.cli import cli
from migopt.io.generators import generate
from migopt.schedulers import parse_policy

TINY = """
scenario = "s0-tight"
days = 2
validation_days = 1
hidden = [8]
steps = 512
episodes = 4
batch = 8
buffer = 100
learn_start = 64
validate_every = 256
compare = 2
compare_arrivals = 1
"""


def train(*arguments: str) -> tuple[int, str, str]:
    """Run the command; return exit code, standard output and standard error."""
    done = CliRunner().invoke(cli, ["train", "dqn", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_a_file_and_options_train_a_policy_that_plays(tmp_path: Path) -> None:
    """Options override the file; the folder gets policy and curve; the header holds settings and split."""
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "tiny.toml").write_text(TINY)
    out = tmp_path / "run"
    code, shown, _ = train(
        "--config", str(tmp_path / "tiny.toml"), "--seed", "3", "-o", str(out), "--json"
    )
    assert code == 0
    result = json.loads(shown)
    assert (result["decisions"], result["updates"]) == (512, 28)
    with (out / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["steps"] for row in rows] == ["256", "512"]
    assert float(rows[-1]["best_cost"]) == result["validation_cost"]
    assert sorted(path.name for path in out.iterdir() if path.is_file()) == [
        "curve.csv",
        "policy.safetensors",
    ]
    from migopt.schedulers.learned.checkpoint import load_policy

    header = load_policy(out / "policy.safetensors").header
    assert (header["config"]["seed"], header["config"]["batch"]) == (3, 8)
    assert header["split"]["digest"] == result["split"]
    assert header["split"]["seeds"]["held_out"] == [0, 999_999]
    day = generate("s0-tight", seed=1, jobs=30)
    figures = parse_policy(f"edf_fs+dqn:{out / 'policy.safetensors'}").score(day)
    assert figures.repartitions > 0
    code, _, error = train("--config", str(tmp_path / "tiny.toml"), "-o", str(out))
    assert code == 2
    assert error.splitlines()[-1].endswith("holds a finished run; begin anew with --restart")


def test_a_killed_run_ends_with_the_same_file(tmp_path: Path) -> None:
    """A run killed by SIGKILL and started again leaves the policy and the curve of one that was not, byte by byte."""
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "tiny.toml").write_text(TINY + "save_every_s = 0.0\n")
    command = [sys.executable, "-m", "migopt", "train", "dqn"]
    command += ["--config", str(tmp_path / "tiny.toml"), "-o"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    killed = subprocess.Popen(
        [*command, str(tmp_path / "killed")], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    resume = tmp_path / "killed" / "resume.safetensors"
    while not resume.exists() and killed.poll() is None:
        time.sleep(0.002)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert resume.exists()
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    for name in ("policy.safetensors", "curve.csv"):
        whole, again = ((tmp_path / run / name).read_bytes() for run in ("whole", "killed"))
        assert whole == again


def test_a_run_that_died_before_its_first_save_begins_anew(tmp_path: Path) -> None:
    """After the first network, before the first file to go on from: no finished run, and the same bytes in the end."""
    pytest.importorskip("torch", reason="torch is not installed")
    from migopt.rl.config import DqnConfig
    from migopt.rl.train import train_dqn

    (tmp_path / "tiny.toml").write_text(TINY)
    config = DqnConfig.from_file(tmp_path / "tiny.toml")

    def die(steps: int, point: object) -> None:
        if point is not None:
            raise RuntimeError(steps)

    with pytest.raises(RuntimeError, match="256"):
        train_dqn(config, tmp_path / "died", progress=die)
    names = {path.name for path in (tmp_path / "died").iterdir()}
    assert "policy.safetensors" in names
    assert "resume.safetensors" not in names
    for name in ("died", "whole"):
        assert train_dqn(config, tmp_path / name)["decisions"] == 512
    for name in ("policy.safetensors", "curve.csv"):
        assert (tmp_path / "died" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


BAD = {
    "layout=papr": "layout: there is no 'papr'; nearest: paper, paper-binned",
    "network=shard": "network: there is no 'shard'; nearest: shared",
    "dispatch=priced": "dispatch: dispatch rule priced has no compiled body",
    "compare=13": "compare: there are 12 partitions to compare, not 13",
    "learning-rate=inf": "learning_rate: must be a finite number, not inf",
    "buffer=10": "buffer: must hold a decision of each of 64 episodes, not 10",
    "first=13": "s0-tight-x2.5-g1-seed1000000 has no partition 13",
}


@pytest.mark.parametrize("option", BAD)
def test_settings_that_fit_nothing_are_one_line(option: str, tmp_path: Path) -> None:
    """Names that are not there, numbers that are none and what no day allows: exit code 2, one line."""
    pytest.importorskip("torch", reason="torch is not installed")
    few = ("--days", "1", "--validation-days", "1", "-o", str(tmp_path / "run"))
    code, _, error = train(f"--{option}", *few)
    assert (code, error) == (2, f"error: {BAD[option]}\n")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    """A file where the folder shall be, or above it."""
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "run"):
        code, _, error = train("--days", "1", "-o", str(out))
        assert code == 2
        assert error.startswith(f"error: {out}: is no folder to write to")
        assert error.count("\n") == 1


def test_bad_settings_are_one_line(tmp_path: Path) -> None:
    """An unknown setting, a value beyond its limits and a scenario that is not there: exit code 2, one line."""
    pytest.importorskip("torch", reason="torch is not installed")
    file = tmp_path / "bad.toml"
    file.write_text("bach = 3\n")
    code, _, error = train("--config", str(file), "-o", str(tmp_path / "run"))
    assert (code, error) == (2, f"error: {file}: no setting 'bach'; nearest: batch, dispatch\n")
    code, _, error = train("--batch", "0", "-o", str(tmp_path / "run"))
    assert (code, error) == (2, "error: batch: must be at least 1, not 0\n")
    code, _, error = train("--scenario", "s0-tigt", "-o", str(tmp_path / "run"))
    assert code == 2
    assert "s0-tight" in error.splitlines()[-1]


def test_without_torch_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absent torch is one line that names the extra."""
    for name in [name for name in sys.modules if name.startswith("migopt.rl.dqn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, error = train("-o", str(tmp_path / "run"))
    assert code == 2
    assert error == (
        "error: training needs torch, which is not installed: pip install 'migopt[rl]'\n"
    )
