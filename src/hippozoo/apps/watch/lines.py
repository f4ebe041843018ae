"""Whole lines of a file, of a growing file or of standard input, and the place to go on from after a crash."""

from __future__ import annotations

import hashlib
import os
import select
import stat
import sys
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from shlex import quote
from typing import Any

from hippozoo.apps.watch.problem import WatchError
from hippozoo.tables.records import LONGEST, Line

__all__ = ["Lines", "Place", "STANDARD_INPUT"]

STANDARD_INPUT = "-"
CHUNK = 1 << 18
# A file is known again by its first bytes and by the last ones before the place, as far as they have been read: a
# header alone may be longer than the head, and is the same in every file of a series.
_HEAD, _TAIL = 1024, 4096
# Bytes kept for the tail of places that have not been asked for yet.
_WINDOW = 1 << 22


@dataclass(frozen=True)
class Place:
    """Where a source was read to."""

    offset: int = 0  # bytes, up to the end of a whole line
    number: int = 0  # lines
    inode: int = 0  # 0 for standard input
    head_length: int = 0  # how many of the first bytes were hashed, and their hash
    head: str = ""
    tail_length: int = 0  # the same of the last bytes before the offset; not known in format 5
    tail: str = ""


def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


class Lines:
    r"""Reads a source in pieces of whole lines; a torn last line waits until the rest of it is there.

    A line counts once its end is there: until then nobody knows whether 1.2 is the beginning of 1.25. What has no end
    when the source ends is left for the next run, and `torn` is its number.

    Parameters
    ----------
    source, stdin
        A path, or ``"-"`` for standard input, or for `stdin`.
    place
        Where to go on; a file that is another one by now is refused, or read from its beginning with `follow`.
    follow
        Whether the file grows: its end is then no end, and a file that was replaced or cut is read anew.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sensor.csv"
    ...     _ = path.write_text("time,value\n0,1.5\n1,2")
    ...     with Lines(str(path), follow=True) as lines:
    ...         print([line.text for line in lines.read()])  # the last line may not be whole yet
    ...         _ = path.write_text("time,value\n0,1.5\n1,2.5\n")
    ...         print([line.text for line in lines.read()])
    ['time,value', '0,1.5']
    ['1,2.5']
    """

    def __init__(
        self, source: str, place: Place | None = None, *, follow: bool = False, stdin: BufferedIOBase | None = None
    ) -> None:
        self.source = source
        self.follow = follow
        self.ended = False
        self.chunk = CHUNK
        self.begun_anew: str | None = None  # why, since this was last asked
        self._rest = self._begin = self._window = b""  # the window ends where the place is
        self._inode = self._skipped = 0  # bytes of a line that is too long to be a row
        self._stream: Any
        self._before = place or Place()
        if source == STANDARD_INPUT:
            self._stream = sys.stdin.buffer if stdin is None else stdin
            self.place = Place()
            return
        self._open(place or Place())

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go; standard input stays open."""
        if self.source != STANDARD_INPUT:
            self._stream.close()

    def _open(self, place: Place) -> None:
        path = Path(self.source)
        try:
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise WatchError(f"{path} is a folder; pass a CSV or JSON lines file, or - for standard input.")
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                raise WatchError(f"{path} is a pipe, and what was read cannot be found again; pass - and < {path}.")
            stream = path.open("rb")
        except FileNotFoundError:
            raise WatchError(f"{path} is not there; pass a CSV or JSON lines file, or - for standard input.") from None
        except OSError as error:
            raise WatchError(f"{path} cannot be read: {error.strerror}.") from error
        begin = stream.read(_HEAD)
        if _is_binary(begin):
            stream.close()
            raise WatchError(f"{path} {_advice(begin, path)}")
        status = os.fstat(stream.fileno())
        why = self._why_another(place, begin, status)
        if not why and place.tail_length:
            tail = os.pread(stream.fileno(), place.tail_length, place.offset - place.tail_length)
            why = "" if _hashed(tail) == place.tail else "holds other rows: it was replaced or overwritten"
        if why and not self.follow:
            stream.close()
            raise WatchError(
                f"{path} {why} since it was last read; watch it with --follow if it is replaced as it grows, "
                f"or write to another --out."
            )
        self._stream, self._inode, self._begin, self._rest = stream, status.st_ino, begin, b""
        self._skipped = 0
        if why:
            place, self.begun_anew = Place(), why
        before = min(place.offset, _TAIL)
        self._window = os.pread(stream.fileno(), before, place.offset - before)
        self.place = Place(place.offset)  # where the window ends
        self.place = self._place(place.offset, place.number)
        self._stream.seek(self.place.offset)

    @staticmethod
    def _why_another(place: Place, begin: bytes, status: os.stat_result) -> str:
        size = status.st_size
        if not place.offset:
            return ""
        if size < place.offset:
            return f"has only {size} bytes, and {place.offset} had been read: it was cut or replaced"
        if _hashed(begin[: place.head_length]) != place.head:
            return "begins with other bytes: it was replaced"
        return ""

    @property
    def sent_again(self) -> int:
        """Up to which line standard input repeats was read by the run before; 0 unless it begins as it did."""
        known = self._before.head_length
        if self.source != STANDARD_INPUT or not known or len(self._begin) < known:
            return 0
        return self._before.number if _hashed(self._begin[:known]) == self._before.head else 0

    @property
    def torn(self) -> int | None:
        """The number of a line whose beginning is there and whose end is not."""
        return self.place.number + 1 if self._rest or self._skipped else None

    def read(self) -> list[Line]:
        """The next whole lines, as many as are there up to a piece's size; none at the end, or while nothing comes."""
        if self.source == STANDARD_INPUT and not _has_come(self._stream):
            return []
        piece = self._next_piece()
        if not piece:
            if self.follow and self.source != STANDARD_INPUT:
                return self._notice_replacement()
            self.ended = True
            return []
        if self.follow and not self._is_as_read(self._window[-_TAIL:], self.place.offset):
            return self._begin_anew("was overwritten")
        if self.follow and not self._is_as_read(self._rest, self._position):
            self._stream.seek(self.place.offset)  # the torn line was taken back
            self._rest, self._skipped, piece = b"", 0, self._next_piece()
        content = self._rest + piece
        end = content.rfind(b"\n") + 1
        whole, self._rest = content[:end], content[end:]
        found = self._split(whole) if whole else []
        if len(self._rest) > LONGEST:
            self._skipped, self._rest = self._skipped + len(self._rest), b""
        return found or self.read()

    @property
    def _position(self) -> int:
        """How far the file was read: beyond the place stands what is not a whole line yet."""
        return self.place.offset + self._skipped + len(self._rest)

    def _is_as_read(self, known: bytes, end: int) -> bool:
        """Whether a file still holds these bytes up to an offset; asked after a piece is read, to miss no writer."""
        if self.source == STANDARD_INPUT or not known:
            return True
        return os.pread(self._stream.fileno(), len(known), end - len(known)) == known

    def place_after(self, line: Line) -> Place:
        """Where to go on behind a line that was read; what comes after it may still be corrected."""
        found = self._place(line.end, line.number)
        self._window = self._window[-(self.place.offset - line.end + _TAIL) :]
        return found

    def _place(self, offset: int, number: int) -> Place:
        head = self._begin[:offset]
        if self.source == STANDARD_INPUT:
            return Place(offset, number, 0, len(head), _hashed(head))
        end = len(self._window) - (self.place.offset - offset)
        tail = self._window[max(end - _TAIL, 0) : max(end, 0)]
        return Place(offset, number, self._inode, len(head), _hashed(head), len(tail), _hashed(tail) if tail else "")

    def acknowledge(self, line: Line) -> None:
        """What was read up to this line is committed; a file needs no answer."""

    def wait(self, seconds: float) -> None:
        """Rest until something may have come, for so long at the most."""
        select.select([self._stream] if self.source == STANDARD_INPUT else [], [], [], seconds)

    def _next_piece(self) -> bytes:
        if self.source == STANDARD_INPUT:
            read = getattr(self._stream, "read1", self._stream.read)  # what is there, without waiting for more
            piece = more = read(self.chunk)
            while more and len(piece) < self.chunk and _has_come(self._stream):
                more = read(self.chunk - len(piece))
                piece += more
            return piece
        return self._stream.read(self.chunk)

    def _split(self, whole: bytes) -> list[Line]:
        parts = whole.split(b"\n")
        if not parts[-1]:
            parts.pop()
        lines, number, end = [], self.place.number, self.place.offset
        for part in parts:
            length, self._skipped = self._skipped + len(part), 0
            number, end = number + 1, end + length + 1
            if length > LONGEST:
                lines.append(Line(number, "", end, length))
                continue
            text = part.rstrip(b"\r").decode("utf-8", errors="replace")
            lines.append(Line(number, text.removeprefix("\ufeff") if number == 1 else text, end))
        known = len(self._begin)  # when the file was opened it may have been shorter than a head
        if known < _HEAD and end - self.place.offset == len(whole):
            self._begin += whole[known - self.place.offset :][: _HEAD - known]
        self._window = (self._window + whole)[-_WINDOW:]
        self.place = Place(end)
        self.place = self._place(end, number)
        return lines

    def _notice_replacement(self) -> list[Line]:
        """At the end of a file that grows: was it replaced, or cut? What is left of the old one comes first."""
        descriptor = self._stream.fileno()
        try:
            now = os.stat(self.source)  # noqa: PTH116  (a path object made every time is slower)
        except FileNotFoundError:
            return []  # moved away, and the next one is not there yet
        if now.st_ino == self._inode:
            why = self._why_another(self.place, os.pread(descriptor, _HEAD, 0), now) and "was cut"
            if not why and now.st_size < self._position:
                self._stream.seek(self.place.offset)  # the torn line was taken back
                self._rest, self._skipped = b"", 0
        else:
            # While the next file is empty, its writer may still be writing to the one before.
            why = "was replaced" if now.st_size else ""
            if why and os.fstat(descriptor).st_size > self._position:
                return self.read()
        return self._begin_anew(why) if why else []

    def _begin_anew(self, why: str) -> list[Line]:
        """Read what has taken the place of the file, from its beginning."""
        torn = f" (its last line, number {self.torn}, had no end and is left out)" if self._rest else ""
        before = self._stream
        try:
            self._open(Place())
        except WatchError:
            if Path(self.source).exists():
                raise
            return []  # moved away in this very moment
        before.close()
        self.begun_anew = why + torn
        return []


def _has_come(stream: Any) -> bool:
    """Whether a read would return at once; one that waits would not hear a signal."""
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except (OSError, ValueError, TypeError):  # nothing that the system knows: memory, in a test
        return True


def _advice(begin: bytes, path: Path) -> str:
    """What a binary file is, and what to do."""
    if begin.startswith(b"\x1f\x8b"):
        return (
            f"is compressed; decompress it, for example with: zcat {quote(str(path))} | hippozoo watch - --out FILE.db"
        )
    if begin.startswith(b"PAR1"):
        return "is a Parquet file, which hippozoo forecast reads; to watch it, write it as CSV first."
    return "is a binary file; pass text: CSV, or one JSON object in each line."


def _is_binary(begin: bytes) -> bool:
    """Whether the first bytes of a file are no text: zeros, or neither UTF-8 nor free of control characters."""
    if b"\x00" in begin:
        return True
    try:
        begin[:-4].decode()  # the last character may be cut
    except UnicodeDecodeError:
        return any(byte < 32 and byte not in b"\t\n\r\f\v" for byte in begin)
    return False
