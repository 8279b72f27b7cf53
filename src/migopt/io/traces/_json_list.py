"""A JSON list read element by element, so that a log of a gigabyte never lies in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from migopt.errors import InputError

_CHUNK = 1 << 20
#: Lines read at once; few, because the whole log may be lines of a megabyte.
_BATCH = 64
#: An element that has not ended after so many characters is broken, not long.
_LONGEST = 1 << 24
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
#: What stands between two elements, when all of it and the next element's start are at hand.
_BETWEEN = re.compile(r"\s*,\s*(?=\S)")


class _Buffer:
    """Text of the file that has not been decoded yet."""

    def __init__(self, lines: Iterable[tuple[int, str]]) -> None:
        self.lines = iter(lines)
        self.text, self.at, self.line, self.ended = "", 0, 0, False

    def more(self) -> bool:
        """Read on; False at the end of the file."""
        parts, size = [self.text[self.at :]], 0
        while size < _CHUNK and not self.ended:
            batch = list(islice(self.lines, _BATCH))
            if not batch:
                self.ended = True
                break
            self.line = batch[-1][0]
            read = "\n".join([text for _, text in batch])
            parts.append(read)
            parts.append("\n")
            size += len(read) + 1
        self.text, self.at = "".join(parts), 0
        return size > 0

    def peek(self) -> str:
        """Return the next character that is not white space, empty at the end of the file."""
        while True:
            if self.at < len(self.text) and not self.text[self.at].isspace():
                return self.text[self.at]
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def broken(self, what: str) -> InputError:
        """Return the error to raise."""
        return InputError(f"not a JSON list: {what}, at or before line {self.line}")


def elements(lines: Iterable[tuple[int, str]]) -> Iterator[Any]:
    """Yield the elements of the one list that the file holds; raises InputError when it is broken."""
    buffer = _Buffer(lines)
    first = buffer.peek()
    if not first:
        raise InputError("the file is empty")
    if first != "[":
        raise buffer.broken(f"it begins with {first!r}, not '['")
    buffer.at += 1
    if buffer.peek() == "]":
        buffer.at += 1
    else:
        separator = ","
        while separator == ",":
            yield _element(buffer)
            between = _BETWEEN.match(buffer.text, buffer.at)
            if between:
                buffer.at = between.end()
                continue
            separator = buffer.peek()
            if separator not in (",", "]"):
                raise buffer.broken(f"{separator or 'its end'} where ',' or ']' must stand")
            buffer.at += 1
    if buffer.peek():
        raise buffer.broken("text after its end")


def _element(buffer: _Buffer) -> Any:
    at_hand = buffer.at < len(buffer.text) and not buffer.text[buffer.at].isspace()
    if not at_hand and not buffer.peek():
        raise buffer.broken("it ends inside")
    while True:
        try:
            value, end = _DECODER.raw_decode(buffer.text, buffer.at)
        except RecursionError:
            raise buffer.broken("nested too deeply") from None
        except ValueError as error:
            reason = str(getattr(error, "msg", error))
            if len(buffer.text) - buffer.at > _LONGEST or not buffer.more():
                raise buffer.broken(reason[:1].lower() + reason[1:]) from None
            continue
        # A number at the end of the text may go on in what has not been read yet.
        length = end - buffer.at
        if end < len(buffer.text) or not buffer.more():
            buffer.at += length
            return value
