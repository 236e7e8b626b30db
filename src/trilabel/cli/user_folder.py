"""What trilabel keeps for a user between runs: the weights that were fetched, and those to start from by default."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.user_folders import user_folder


@dataclass(frozen=True)
class DefaultWeights:
    """The weights that `train` starts from if it is given none."""

    weights: str
    """A file, a folder with one, or the folder of a run."""
    backbone: str
    """What they are for."""


def settings_file() -> Path:
    """Where the default is remembered."""
    return user_folder("XDG_CONFIG_HOME", ".config", "APPDATA") / "settings.json"


def weights_folder() -> Path:
    """Where fetched weights are."""
    return user_folder("XDG_DATA_HOME", ".local/share", "LOCALAPPDATA") / "weights"


def fetched(name: str) -> Path:
    """Where weights that were fetched under this name are, or would be."""
    return weights_folder() / f"{name}.safetensors"


def is_name(text: str) -> bool:
    """Whether this may be the name of fetched weights, and no path."""
    return "/" not in text and os.sep not in text and not text.endswith(".safetensors")


def default_weights() -> DefaultWeights | None:
    """What is remembered; a settings file that cannot be understood is an error."""
    try:
        file = settings_file()
    except TrilabelError:  # no home folder, as in some containers: nothing was remembered there
        return None
    try:
        content = json.loads(file.read_bytes())
        found = DefaultWeights(**content["default_weights"])
        if not (isinstance(found.weights, str) and isinstance(found.backbone, str)):
            raise TypeError("not text")
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # or the home of somebody else, likewise
        return None
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TrilabelError(
            f"{file}: damaged, so the default weights are unknown; remove it with `trilabel weights --forget`, or pass "
            "--weights"
        ) from None
    return found


def remember(default: DefaultWeights) -> None:
    """Makes these the default."""
    write_text(settings_file(), json.dumps({"default_weights": asdict(default)}, indent=1) + "\n")


def forget() -> None:
    """Removes the settings file: the default is all that it has."""
    settings_file().unlink(missing_ok=True)
