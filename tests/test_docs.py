"""The README and every page of the documentation do what they say: their code runs, their output is theirs.

In each Markdown file the fenced blocks are run in order, in one folder of their own:

* ``python`` blocks share one namespace; ``sh`` blocks are run by bash;
* a ``text`` block right after one of them is the output that it must print; ``…`` stands for any
  text within a line, and a line that is only ``…`` for any lines;
* ``<!-- file: name -->`` before a block writes it to that file instead of running it;
* ``<!-- exit: 1 -->`` before a ``sh`` block is the exit code it must end with;
* ``<!-- not run: reason -->`` before a block leaves it alone, and must say why.

A ``python``, ``sh`` or ``text`` block that is neither run nor compared nor excused is an error.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from conftest import REPOSITORY

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
RUNNABLE = ("python", "sh")
SPELLINGS = {"bash": "sh", "shell": "sh", "console": "sh", "py": "python", "pycon": "python"}
#: Folders of a checkout that pages may name.
CHECKOUT = ("instances", "solvers", "benchmarks")
ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    "COLUMNS": "120",
    "NO_COLOR": "1",
    "TERM": "dumb",
}


@dataclass
class Block:
    """A fenced block and the comment before it."""

    page: str
    line: int
    language: str
    text: str
    directive: str = ""
    argument: str = ""
    expected: str | None = None

    @property
    def place(self) -> str:
        """Where the block is."""
        return f"{self.page}:{self.line}"


def blocks_of(source: str, page: str = "page.md") -> list[Block]:
    """Return the blocks of a page; a text block that is some other block's output is folded into it."""
    found: list[Block] = []
    comment, last = None, None
    for token in MarkdownIt().parse(source):
        if token.type == "html_block":
            comment = re.match(r"\s*<!--\s*(not run|file|exit)\s*:\s*(.*?)\s*-->", token.content, re.S)
            last = None
        elif token.type == "fence":
            language = token.info.strip().split(" ")[0]
            line = token.map[0] + 1 if token.map else 0
            block = Block(page, line, SPELLINGS.get(language, language), token.content)
            if comment:
                block.directive, block.argument = comment[1], comment[2]
            if block.language == "text" and last is not None and not comment:
                last.expected = block.text
                last = None
            else:
                found.append(block)
                last = block if is_run(block) else None
            comment = None
        elif token.nesting >= 0:
            comment, last = None, None
    return found


def is_run(block: Block) -> bool:
    """Return whether a block is executed."""
    return block.language in RUNNABLE and block.directive in ("", "exit")


def unexcused(block: Block) -> str | None:
    """Return what is wrong with a block that is neither run nor compared, or None."""
    if block.directive == "not run" and not block.argument:
        return f"{block.place}: 'not run' gives no reason"
    if block.language == "text" and block.directive not in ("not run", "file"):
        return f"{block.place}: a text block that is no block's output"
    if block.expected is not None and not set(block.expected) - set("… \n"):
        return f"{block.place}: an output that anything matches"
    if not block.language:
        return f"{block.place}: a block without a language"
    return None


def matches(expected: str, printed: str) -> bool:
    """Return whether output is as expected, up to ``…`` and white space at line ends."""
    pattern = []
    for line in expected.strip().splitlines():
        if line.strip() == "…":
            pattern.append(r"(?:.*\n)*?")
        else:
            parts = [re.escape(part) for part in line.rstrip().split("…")]
            pattern.append(".*?".join(parts) + "\n")
    text = "".join(line.rstrip() + "\n" for line in printed.strip().splitlines())
    return re.fullmatch("".join(pattern), text) is not None


def run_python(block: Block, namespace: dict[str, Any]) -> str:
    """Execute a Python block and return what it printed."""
    out = io.StringIO()
    code = compile("\n" * block.line + block.text, block.page, "exec")
    with contextlib.redirect_stdout(out):
        exec(code, namespace)
    return out.getvalue()


def run_shell(block: Block, folder: Path) -> str:
    """Run a shell block and return what it printed; its exit code must be the one announced."""
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", block.text],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    expected = int(block.argument) if block.directive == "exit" else 0
    assert done.returncode == expected, f"{block.place}: exit {done.returncode}\n{done.stdout}"
    return done.stdout


def run_page(source: str, page: str, folder: Path) -> None:
    """Run all blocks of a page in ``folder``."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(source, page):
        fault = unexcused(block)
        assert fault is None, fault
        if block.directive == "file":
            (folder / block.argument).write_text(block.text, encoding="utf-8")
        elif is_run(block):
            printed = (
                run_python(block, namespace)
                if block.language == "python"
                else run_shell(block, folder)
            )
            if block.expected is not None and not matches(block.expected, printed):
                pytest.fail(f"{block.place} printed\n{printed}\ninstead of\n{block.expected}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder from which the folders of a checkout can be reached."""
    for name in CHECKOUT:
        (tmp_path / name).symlink_to(REPOSITORY / name)
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_page_does_what_it_says(page: Path, folder: Path) -> None:
    """Every code block of the page runs and prints what the page prints."""
    run_page(page.read_text(encoding="utf-8"), str(page.relative_to(REPOSITORY)), folder)


def test_first_screen_of_the_readme() -> None:
    """The README starts with ten lines of Python with their output, and names the two commands."""
    source = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    first = next(block for block in blocks_of(source) if block.language == "python")
    lines = [line for line in first.text.splitlines() if line.strip()]
    assert len(lines) == 10
    assert first.expected
    top = "\n".join(source.splitlines()[:60])
    assert "make demo" in top
    assert "make test" in top
    assert "pip install" in top


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```", "instead of"),
        ("```python\n1 / 0\n```", "division by zero"),
        ("```sh\nfalse\n```", "exit 1"),
        ("<!-- exit: 1 -->\n```sh\ntrue\n```", "exit 0"),
        ("```sh\necho a\n```\n```text\nb\n```", "instead of"),
        ("```text\nfrom nowhere\n```", "no block's output"),
        ("<!-- not run: -->\n```python\n1 / 0\n```", "no reason"),
        ("```sh\necho a\n```\n```text\n…\n```", "anything matches"),
        ("```\nwhat\n```", "without a language"),
        ("1. a list\n   ```python\n   1 / 0\n   ```", "division by zero"),
    ],
)
def test_a_page_that_lies_fails(page: str, fault: str, folder: Path) -> None:
    """Wrong output, an error, a wrong exit code and an unexcused block are all found."""
    with pytest.raises((AssertionError, ZeroDivisionError, pytest.fail.Exception), match=fault):
        run_page(page, "page.md", folder)


def test_a_page_that_is_right_passes(folder: Path) -> None:
    """Shared names, files, ellipses, exit codes and excused blocks work as described above."""
    run_page(
        "```python\nx = 1\nprint('a', x, 'b')\n```\n\n```text\na … b\n```\n"
        "<!-- file: it.txt -->\n```text\nhello\n```\n"
        "```sh\ncat it.txt; seq 9\n```\n```text\nhello\n1\n…\n9\n```\n"
        "<!-- exit: 3 -->\n```sh\nexit 3\n```\n"
        "<!-- not run: it would fail -->\n```python\n1 / 0\n```\n"
        "```python\nprint(x)\n```\n```text\n1\n```\n",
        "page.md",
        folder,
    )


def test_every_rule_and_solver_has_a_place() -> None:
    """Each dispatch rule, partition rule and solver entry is named, as code, on a page of its kind."""
    from migopt.registry import entries
    from migopt.schedulers import dispatch_rules, partition_rules

    docs = REPOSITORY / "docs"
    rules = "".join(path.read_text(encoding="utf-8") for path in (docs / "rules").glob("*.md"))
    everything = "".join(path.read_text(encoding="utf-8") for path in docs.rglob("*.md"))
    missing = [name for name in dispatch_rules() + partition_rules() if f"`{name}`" not in rules]
    missing += [entry.name for entry in entries() if f"`{entry.name}`" not in everything]
    assert missing == []


# ---------------------------------------------------------------- help texts


def commands(
    group: click.Group | None = None, names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Return every command that does something, with its words."""
    if group is None:
        from migopt.cli import cli as group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield from commands(command, (*names, name))
        else:
            yield (*names, name), command


def examples_of(command: click.Command) -> list[str]:
    """Return the command lines of a help text's example; a sentence after one is not part of it."""
    lines = re.findall(r"migopt [^;&|\n]*", command.epilog or "")
    return [re.sub(r"\. [A-Z].*$", "", line).strip() for line in lines]


#: Beginnings of examples that are not run here, and why.
NOT_RUN = {
    "migopt bench quick": "takes a minute; `make demo` runs it",
    "migopt report results": "needs the results of that suite; `make demo` runs it",
    "migopt calibrate": "simulates twenty days, and --store changes a file of the package",
    "migopt import": "needs a trace, which is not part of the repository",
    "migopt instances build": "would rewrite shipped instances",
    "migopt instances index": "would rewrite the shipped index",
    "migopt train": "trains for minutes; tests/unit/rl trains less",
}


def test_examples_run(folder: Path) -> None:
    """The examples of all help texts can be typed as they stand, beside a day, a schedule and a rule."""
    from migopt.cli import cli

    runner = CliRunner()
    (folder / "my_rule.py").write_bytes(
        (REPOSITORY / "src/migopt/schedulers/dispatch/edf_fs.py").read_bytes()
    )
    examples = [line for _, command in commands() for line in examples_of(command)]
    # what others read is made first
    order = ["generate", "simulate"]
    examples.sort(key=lambda line: ([*order, line.split()[1]].index(line.split()[1])))
    used = set()
    for line in dict.fromkeys(examples):
        reason = next((start for start in NOT_RUN if line.startswith(start)), None)
        if reason is not None:
            used.add(reason)
            continue
        done = runner.invoke(cli, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
    assert used == set(NOT_RUN), "an excuse for an example that is gone"


def test_every_help_has_an_example() -> None:
    """``--help`` of every command ends with an example that starts with ``migopt`` and its own words."""
    for words, command in commands():
        example = " ".join(examples_of(command))
        assert f"migopt {' '.join(words)}" in example, words
        done = CliRunner().invoke(command, ["--help"])
        assert done.exit_code == 0, words
        assert re.search("Examples?: migopt", " ".join(done.output.split())), words


def test_the_page_on_the_command_line_names_every_command() -> None:
    """Each command is in the table of docs/cli.md."""
    page = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")
    missing = [words for words, _ in commands() if f"`{' '.join(words)}" not in page]
    assert missing == []


def test_help_lists_every_command() -> None:
    """The list in ``migopt --help`` names what can be loaded, and nothing else."""
    from migopt.cli import COMMANDS, cli

    shown = CliRunner().invoke(cli, ["--help"]).output
    found = {words[0] for words, _ in commands()}
    assert found == set(COMMANDS)
    assert all(f"  {name} " in shown for name in found)


def test_pictures_are_current() -> None:
    """The committed pictures are what ``python docs/images/draw.py`` draws now."""
    import runpy

    folder = REPOSITORY / "docs" / "images"
    drawn = runpy.run_path(str(folder / "draw.py"))["pictures"]()
    assert set(drawn) == {path.name for path in folder.glob("*.svg")}
    for name, svg in drawn.items():
        assert (folder / name).read_text(encoding="utf-8") == svg, name
