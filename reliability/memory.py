"""The most memory that this process has had since a moment."""

import resource
import sys
from pathlib import Path

_RESET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def start_peak() -> int:
    """Bytes of memory in use; from now on `peak` counts anew.

    Where the system cannot start anew (macOS), it is the peak so far: only what goes beyond that is seen.
    """
    if _RESET.exists():
        _RESET.write_text("5")
    return peak()


def peak() -> int:
    """The most bytes of memory in use since `start_peak`."""
    if _RESET.exists():
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) << 10
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10
