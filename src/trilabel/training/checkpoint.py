"""Checkpoints: one safetensors file each, with everything that is not a tensor as JSON in its header.

With one file, tensors and counters are always of the same moment; it is replaced completely or not at all.
Nothing is ever unpickled.
"""

import json
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialize
from safetensors.torch import save_file
from torch import Tensor

from trilabel.errors import TrilabelError, one_line, system_error
from trilabel.files import replacing
from trilabel.input_files import check_regular
from trilabel.printable import command_line

_LONGEST_STATE = 50_000_000  # bytes; that of a thousand times more classes than Open Images has


def save(path: str | Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
    """Writes tensors (any device) and a JSON-able state."""
    _write(path, tensors, json.dumps(state))


def to_bytes(tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> bytes:
    """What `save` writes, for a folder in which nobody would remove what safetensors leaves if it is killed."""
    copies = _copies(tensors)
    found: bytes = serialize(copies, {**_metadata(copies, json.dumps(state)), "format": "pt"})  # as model hubs expect
    return found


def _copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}


def _metadata(tensors: Mapping[str, Tensor], state: str) -> dict[str, str]:
    return {"state": state, "tensors": str(len(tensors))}


def _write(path: str | Path, tensors: Mapping[str, Tensor], state: str) -> None:
    copies = _copies(tensors)
    try:
        with replacing(path, make_folder=False) as temporary:
            temporary.touch()
            mode = temporary.stat().st_mode
            with _system_errors(temporary):
                save_file(copies, temporary, metadata=_metadata(copies, state))
            with suppress(OSError):  # some mounts know no permissions
                temporary.chmod(mode)  # safetensors 0.8 leaves it readable to its owner only, whatever the umask
    except FileNotFoundError as error:
        raise TrilabelError(
            f"{Path(path).parent}: this folder was removed while the run was training, so nothing can be saved; start "
            "the run again"
        ) from error
    except OSError as error:
        resume = command_line("trilabel", "train", "--resume", Path(path).parent)
        raise system_error(error, path, f"resume the run: {resume}") from error


@contextmanager
def _system_errors(file: Path) -> Iterator[None]:
    """Inside, what safetensors wraps in an error of its own is an OSError again."""
    try:
        yield
    except SafetensorError as error:
        if code := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(code[1]), os.strerror(int(code[1])), str(file)) from error
        raise


class Writer:
    """Writes checkpoints while training on a GPU continues, in the order of the calls; at most two wait.

    Tensors are first copied on the device, which takes no time; after that they may change. If one checkpoint cannot
    be written, later ones are not written either: a file never refers to another that does not exist.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._under_way: deque[Future[None]] = deque()

    def save(self, path: str | Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """As `checkpoint.save`, but in the background; errors are raised by a later `save` or `wait`."""
        self.wait(until=1)
        try:
            copies = {name: value.detach().clone() for name, value in tensors.items()}
        except torch.OutOfMemoryError:  # no room for a copy: training has to wait
            self.wait()
            return save(path, tensors, state)
        aside = None
        if torch.cuda.is_available():
            aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            aside.wait_stream(torch.cuda.current_stream())
        before = self._under_way[-1] if self._under_way else None
        self._under_way.append(self._pool.submit(self._write_aside, before, aside, path, copies, json.dumps(state)))
        return None

    def wait(self, until: int = 0) -> None:
        """Waits until at most this many checkpoints are still to be written."""
        while len(self._under_way) > until:
            self._under_way.popleft().result()

    @staticmethod
    def _write_aside(
        before: Future[None] | None,
        stream: torch.cuda.Stream | None,
        path: str | Path,
        tensors: Mapping[str, Tensor],
        state: str,
    ) -> None:
        if before is not None:
            before.result()
        with torch.cuda.stream(stream):  # None: the current stream
            _write(path, tensors, state)


def load(path: str | Path, prefix: str = "") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """(tensors on the CPU, state) as `save` wrote them; with a prefix only the tensors under it."""
    with _opened(path) as file:
        names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118 (not a dict)
        # Copies: a tensor that lies in the file keeps all of it on disk, even once it is replaced.
        return {name: file.get_tensor(name).clone() for name in names}, _state(file)


def load_state(path: str | Path) -> dict[str, Any]:
    """Only the state."""
    with _opened(path) as file:
        return _state(file)


def _state(file: Any) -> dict[str, Any]:
    about = file.metadata() or {}
    if len(about["state"]) > _LONGEST_STATE:
        raise ValueError("its state is too long")
    state, missing = json.loads(about["state"]), int(about["tensors"]) - len(file.keys())
    if not isinstance(state, dict):
        raise ValueError("its state is not a dictionary")
    if missing:
        raise ValueError(f"{missing} of its tensors are missing" if missing > 0 else "it has tensors of another file")
    return state


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    try:
        check_regular(path)
        Path(path).open("rb").close()  # the system's own words, which safetensors hides
        with _system_errors(Path(path)), safe_open(path, framework="pt") as file:
            yield file
    except TrilabelError:
        raise
    except FileNotFoundError as error:
        raise TrilabelError(f"{path}: no such checkpoint; restore it, or resume the run") from error
    except OSError as error:
        raise system_error(error, path) from error
    except (SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise TrilabelError(
            f"{path}: not a trilabel checkpoint, or cut short ({one_line(error)}); restore it or train again"
        ) from error


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors under "prefix.name"."""
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def part(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under "prefix.", by the rest of their names."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimizer, as "parameter number.name" -> tensor (learning rates are set at each step)."""
    memory = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": value
        for number, values in memory.items()
        for name, value in values.items()
        if isinstance(value, Tensor)
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restores the tensors of `optimizer_tensors`."""
    memory: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, key = name.split(".", 1)
        memory.setdefault(int(number), {})[key] = value
    optimizer.load_state_dict({"state": memory, "param_groups": optimizer.state_dict()["param_groups"]})
    for parameter, values in optimizer.state.items():
        for key, value in values.items():
            if isinstance(value, Tensor) and value.numel() > 1 and value.shape != parameter.shape:
                raise ValueError(f"{key} of the optimizer has shape {tuple(value.shape)}, not {tuple(parameter.shape)}")
            if isinstance(value, Tensor) and value.shape == parameter.shape:
                # Files have no memory layout, but fused optimizers need that of the parameter (channels-last).
                values[key] = torch.empty_like(parameter).copy_(value)
