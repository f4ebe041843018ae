"""The process that computes units: what it asks of the allocator."""

import platform
import subprocess
import sys

import pytest

RESIDENT = """
import resource, sys
import numpy as np
from hippozoo_studies.framework.compute import keep_freed_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

if sys.argv[1] == "keep":
    keep_freed_memory()
before = resident()
np.ones(8_000_000)  # 64 MB, freed at once
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these thresholds")
def test_freed_memory_stays_in_the_process_that_computes_units():
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", RESIDENT, how], check=True, capture_output=True, text=True).stdout)
        for how in ("keep", "leave")
    )
    assert kept > 60e6
    assert given_back < 10e6
