"""How much memory is free: on a GPU, on this machine, or in the containers that this process runs in."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    import torch

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")
# (limit, used, files that were read or written and make room when memory is needed) by version of cgroups
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file"))
_V2 = ("memory.max", "memory.current", ("active_file", "inactive_file"))


def free_memory(device: "torch.device", processes: int = 1) -> int:
    """Bytes that one of `processes` on this machine may use: each has a GPU of its own, and all share the host."""
    if device.type == "cuda":
        import torch

        return torch.cuda.mem_get_info(device)[0]
    return free_host_memory() // processes


def free_host_memory() -> int:
    """Bytes of this machine's memory that this process may use."""
    return min((psutil.virtual_memory().available, *left_in_cgroups(_CGROUPS, _OWN_CGROUPS)))


def left_in_cgroups(root: Path, own: Path) -> list[int]:
    """Bytes up to the limit of each Linux cgroup that this process is in, with those around it; none elsewhere.

    root: where cgroups are mounted; own: the file that lists those of the process.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:  # "4:memory:/path" in version 1, "0::/path" in version 2
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            found += [_left(folder, *_V1) for folder in _with_parents(root / "memory", path)]
        elif not controllers:
            found += [_left(folder, *_V2) for folder in _with_parents(root, path)]
    return [left for left in found if left is not None]


def _with_parents(root: Path, path: str) -> Iterator[Path]:
    """The folders from a cgroup up to the root. In a container the path may be the host's, and only the root exists."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    for length in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:length])


def _left(folder: Path, limit: str, used: str, files: tuple[str, ...]) -> int | None:
    """Bytes up to the limit of one cgroup; None if it has none."""
    try:
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        room = int((folder / limit).read_text()) - int((folder / used).read_text())
    except (OSError, ValueError):  # ValueError: the limit is "max"
        return None
    return max(0, room + sum(int(stat.get(name, 0)) for name in files))
