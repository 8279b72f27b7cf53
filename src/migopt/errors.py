"""Errors and warnings that migopt raises on purpose; each message says what, where, and what would be valid."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class MigoptError(Exception):
    """Base of every deliberate error; its text is complete and fit to print alone."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle text and attributes, whatever a class's arguments are: errors come from workers, too."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[MigoptError], args: tuple[Any, ...], fields: dict[str, Any]) -> MigoptError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class MigoptWarning(UserWarning):
    """Base of every deliberate warning."""


class InputError(MigoptError):
    """A file or argument is not acceptable.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence.
    where : str, optional
        The place: a path inside a file (``jobs[3].due_ms``) or an option's name.
    source : str, optional
        The file the input came from.
    """

    def __init__(self, message: str, *, where: str = "", source: str = "") -> None:
        self.message, self.where, self.source = message, where, source
        place = ": ".join(part for part in (source, where) if part)
        super().__init__(f"{place}: {message}" if place else message)


class UnknownNameError(InputError):
    """A name is not among the known ones; the message lists the nearest.

    With a ``reason`` (the name exists elsewhere, but not here) it gives the reason and all known names.
    """

    def __init__(
        self,
        what: str,
        name: str,
        known: Iterable[str],
        *,
        where: str = "",
        source: str = "",
        reason: str = "",
    ) -> None:
        self.name, self.known = name, sorted(known)
        hint = (
            f" ({reason}); known: {', '.join(self.known)}"
            if reason
            else nearest_hint(name, self.known)
        )
        super().__init__(f"unknown {what} {name!r}{hint}", where=where, source=source)


class MissingExtraError(MigoptError):
    """An optional dependency is needed and absent."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: pip install 'migopt[{extra}]'"
        )


class PolicyError(MigoptError):
    """A dispatch or partition rule asked for something that the rules of a legal schedule forbid."""


class NotApplicableError(MigoptError):
    """A rule or solver does not apply to this instance; the message is the reason to show beside a skip."""


class InfeasiblePartitionError(MigoptError):
    """Some job cannot run under the partitions a policy keeps; ``job_id`` names the first."""

    def __init__(self, message: str, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(message)


def nearest_hint(name: str, known: Iterable[str], limit: int = 3) -> str:
    """Return '; nearest: …' or '; known: …' for an error message about an unknown name."""
    known = [str(item) for item in known]
    lowered = {item.lower(): item for item in known}
    wanted = str(name).lower()
    # A beginning ("H100") says more than a likeness ("H200").
    begun = sorted(item for item in lowered if wanted and item.startswith(wanted))
    alike = difflib.get_close_matches(wanted, lowered, n=limit, cutoff=0.5)
    close = list(dict.fromkeys([*begun, *alike]))[:limit]
    if close:
        return "; nearest: " + ", ".join(lowered[item] for item in close)
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return f"; known: {shown}" if known else ""
