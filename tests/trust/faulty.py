"""Faults below Python: a small library that is preloaded, so that writes of SQLite can fail too."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CALLS = {"write": 1, "sync": 2, "rename": 3, "truncate": 4}
_VARIABLE = "LD_PRELOAD"


def run_again_preloaded() -> None:
    """Start this very program once more with the library before all others; nothing happens where there is no compiler.

    Children that are forked from it have the library; those that are started anew do not need it.
    """
    compiler = shutil.which("cc")
    if is_loaded() or compiler is None or not sys.platform.startswith("linux"):
        return
    library = Path(tempfile.mkdtemp()) / "faulty.so"
    source = Path(__file__).with_name("faulty.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    os.environ[_VARIABLE] = str(library)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def is_loaded() -> bool:
    """Whether calls can be made to fail."""
    return hasattr(ctypes.CDLL(None), "faulty_arm")


def arm(call: str, at: int, number: int) -> None:
    """Let the call number `at` of this kind fail with this error; with 0 they are only counted."""
    _library().faulty_arm(CALLS[call], at, number)


def counted() -> int:
    """How many calls of the kind that was armed there were."""
    return int(_library().faulty_count())


def _library() -> Any:
    library = ctypes.CDLL(None)
    library.faulty_count.restype = ctypes.c_long
    return library
