"""A target of mutations: files, what reads them, and how that may end."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """Files of which one is mutated, and what reads them then. It may raise a TrilabelError, nothing else."""

    name: str
    files: tuple[Path, ...]
    read: Callable[[], object]
    weight: int = 1


class WrongEnd(Exception):
    """The command line ended in a way it must not."""


def command_line(*arguments: object) -> None:
    """Runs a command; raises an error unless it succeeds, or fails with one clear line."""
    from trilabel.cli.main import main

    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # tyro ends the process for wrong usage
            code = int(ended.code or 0)
    printed = error.getvalue()
    lines = [line for line in printed.splitlines() if line.startswith("trilabel: ")]
    if code not in (0, 1, 2) or "Traceback" in printed or "--debug" in printed or (code == 1 and len(lines) != 1):
        raise WrongEnd(f"exit {code}: {printed.strip()[-500:]}")


def read_data(path: Path) -> None:
    """Reads a data set and looks at all of it."""
    import trilabel as tl
    from trilabel.data.inspect import inspect

    dataset = tl.data.read(path)
    dataset.labels.csr.check_format(full_check=True)
    inspect(dataset)
