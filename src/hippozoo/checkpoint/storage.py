"""One file: arrays in safetensors format, text in the header, a checksum over both; whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from hippozoo import __version__
from hippozoo._internal.files import CannotWriteError, write_whole
from hippozoo.checkpoint.error import CheckpointError

FORMAT = "hippozoo-checkpoint"
VERSION = 1
# The safetensors format itself allows no longer header.
LONGEST_HEADER = 100_000_000


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds: one text and the arrays that the text refers to by name."""

    text: str
    arrays: dict[str, np.ndarray]


def write(path: Path, contents: Contents) -> None:
    """Put the contents at `path`: after a crash at any moment, the old file or the new one is there."""
    try:
        write_whole(path, pack(contents))
    except CannotWriteError as error:
        raise CheckpointError(f"cannot be written: {error.reason}.") from error


def pack(contents: Contents) -> bytes:
    """The contents as the bytes of a file."""
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "written_by": f"hippozoo {__version__}",
        "content": contents.text,
    }
    metadata["sha256"] = checksum(metadata, contents.arrays)
    return _packed(contents.arrays, metadata)


def _packed(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    try:
        data = write_tensors(arrays, metadata)
    except SafetensorError as error:
        raise CheckpointError(f"cannot be written ({error}).") from error
    length = int.from_bytes(data[:8], "little")
    if length > LONGEST_HEADER:
        raise CheckpointError(
            f"the plain values take {length} bytes of text and {LONGEST_HEADER} are allowed; "
            "keep long lists of numbers as arrays."
        )
    # safetensors orders the metadata anew at every call; the same thing shall give the same bytes.
    entries = json.loads(data[8 : 8 + length])
    entries["__metadata__"] = dict(sorted(entries["__metadata__"].items()))
    header = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the arrays begin at a multiple of 8
    return b"".join([len(header).to_bytes(8, "little"), header, memoryview(data)[8 + length :]])


def read(path: Path) -> Contents:
    """The contents of a file, once format, version and checksum have been found right."""
    return _verified(*_read_parts(path))


def unpack(data: bytes) -> Contents:
    """The contents of what `pack` gave."""
    length = int.from_bytes(data[:8], "little")
    if not 2 <= length <= len(data) - 8:
        raise CheckpointError(_foreign(data[:8], len(data)))
    return _verified(data[8 : 8 + length], data)


def _verified(header: bytes, data: bytes) -> Contents:
    metadata = _metadata(header)
    if metadata.get("format") != FORMAT:
        raise CheckpointError(
            "is not a hippozoo checkpoint: a safetensors file of another program; "
            "read its tensors with safetensors.numpy.load_file."
        )
    version = metadata.get("version", "")
    if not version.isdecimal() or int(version[:9]) < 1:
        raise CheckpointError(f"is damaged: its format version is {version[:20]!r}; use another copy.")
    if int(version[:9]) > VERSION:
        raise CheckpointError(
            f"has format version {version[:9]} (written by {metadata.get('written_by', 'unknown')[:40]}), "
            f"but this hippozoo {__version__} reads versions up to {VERSION}; install a newer hippozoo."
        )
    try:
        arrays = read_tensors(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"is truncated or damaged ({error}); use another copy.") from error
    promised = metadata.pop("sha256", "")
    if checksum(metadata, arrays) != promised or "content" not in metadata:
        raise CheckpointError("is damaged: its checksum does not match what it holds; use another copy.")
    return Contents(metadata["content"], arrays)


def _read_parts(path: Path) -> tuple[bytes, bytes]:
    """The header, and the whole file; refused by its first bytes where it is something else."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CheckpointError("is a folder or a device; pass the path of a file.")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            length = int.from_bytes(start, "little")
            if not 2 <= length <= min(size - 8, LONGEST_HEADER):
                raise CheckpointError(_foreign(start, size))
            header = file.read(length)
            # Looked for before the rest is read: a foreign file may be larger than memory.
            if not header.startswith(b"{"):
                raise CheckpointError(_foreign(start, size))
            if FORMAT.encode() not in header:
                return header, b""
            file.seek(0)
            return header, file.read()
    except FileNotFoundError:
        raise CheckpointError("there is no such file; check the path.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"cannot be read ({error}).") from error


def _foreign(start: bytes, size: int) -> str:
    if start.startswith((b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")):
        return (
            "is not a hippozoo checkpoint but looks like a pickle or torch.save file, which could run code; "
            "open it where you trust it, and store its contents with hippozoo.checkpoint.save."
        )
    return (
        f"is not a hippozoo checkpoint, or truncated ({size} bytes, starting with {start!r}); "
        "pass a file written by hippozoo.checkpoint.save."
    )


def _metadata(header: bytes) -> dict[str, str]:
    metadata: object = None
    # Neither a header that is no JSON nor one nested to exhaust the stack is ours.
    with contextlib.suppress(ValueError, RecursionError):
        entries = json.loads(header)
        metadata = entries.get("__metadata__") if isinstance(entries, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        return {}
    return metadata


def checksum(metadata: dict[str, str], arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of everything the file says, however safetensors arranged it."""
    names = sorted(arrays)
    outline = [
        sorted(metadata.items()),
        [(name, arrays[name].dtype.str, arrays[name].shape) for name in names],
    ]
    digest = hashlib.sha256(json.dumps(outline).encode())
    for name in names:
        digest.update(np.asarray(arrays[name], order="C").reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
