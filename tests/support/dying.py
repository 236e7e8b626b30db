"""Processes of a run that fail at an exact step; importable, because each of them imports it."""

import os
import signal
import sys
from dataclasses import dataclass
from typing import Any

from trilabel.errors import TrilabelError


@dataclass(frozen=True)
class Dying:
    """Does the work of one process as `launch.run_here` does, but process `rank` ends in one of its steps."""

    rank: int
    step: int  # from 1
    how: str  # see `_end`

    def __call__(self, work: Any, config: Any) -> None:
        from trilabel.training.launch import run_here

        self.prepare()
        run_here(work, config)

    def prepare(self) -> None:
        """From here on the process is doomed."""
        from trilabel.training.batches import BatchMaker

        make, made = BatchMaker.__call__, 0

        def make_batch(maker: BatchMaker, *arguments: Any, **options: Any) -> Any:
            nonlocal made
            made += 1
            if made == self.step and int(os.environ["RANK"]) == self.rank:
                self._end()
            return make(maker, *arguments, **options)

        BatchMaker.__call__ = make_batch  # type: ignore[method-assign]

    def _end(self) -> None:
        match self.how:
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "crashed":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "refused":
                raise TrilabelError("this image is refused")
            case "no space":
                raise OSError(28, "No space left on device", "/somewhere")
            case "stopped":
                os.kill(os.getpid(), signal.SIGTERM)
            case "worker killed":
                import psutil

                os.kill(psutil.Process().children()[0].pid, signal.SIGKILL)


def _command() -> int:
    """RANK,STEP,HOW ARGUMENTS …: the command `trilabel` in a process of torchrun that ends early."""
    from trilabel.cli.main import main

    rank, step, how = sys.argv[1].split(",")
    Dying(int(rank), int(step), how).prepare()
    return main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(_command())
