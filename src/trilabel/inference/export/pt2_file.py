"""Files of torch.export (.pt2).

Reading one can run code: torch unpickles parts of it. So it is read only if a person says that it may be trusted.
"""

import io
import json
import warnings
from pathlib import Path

import torch
from torch import Tensor

from trilabel.errors import TrilabelError, one_line
from trilabel.inference.export.about import About
from trilabel.inference.export.loaded import ExportedNetwork
from trilabel.inference.export.network import OUTPUTS, DeployedNetwork, traced
from trilabel.input_files import check_regular
from trilabel.plugin_files import Files, listed

_ABOUT = "trilabel.json"


def write_pt2(network: DeployedNetwork, about: About, path: Path) -> None:
    """Writes one file, with the description in it."""
    buffer = io.BytesIO()  # torch would put the name of the file into it
    torch.export.save(traced(network), buffer, extra_files={_ABOUT: json.dumps(about.to_json())})
    path.write_bytes(buffer.getbuffer())


def open_pt2(path: Path, device: torch.device, trust: Files) -> tuple[ExportedNetwork, About]:
    """(the network on the device, what the file says of itself). trust: files that may run code; it must be one."""
    check_regular(path)
    if path.resolve() not in (file.resolve() for file in listed(trust)):
        raise TrilabelError(
            f"{path}: to read a .pt2 file can run code, unlike an .onnx file; if you trust it, pass "
            f"trust='{path.name}' with its path"
        )
    extra = {_ABOUT: ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.load(path, extra_files=extra)
            if device.type != "cpu":
                from torch.export.passes import move_to_device_pass  # torch.export takes a second to import

                program = move_to_device_pass(program, str(device))
        module = program.module()
        values = json.loads(extra[_ABOUT])
    except Exception as error:  # a zip archive, JSON and pickles in it, and versions of torch that disagree
        message = f"{path}: not a .pt2 file that this torch reads ({one_line(error)}); export again"
        raise TrilabelError(message) from error
    about = About.from_json(values, path)

    def run(images: Tensor) -> Tensor:
        found: Tensor = module(images)[OUTPUTS.index("logits")]
        return found

    return ExportedNetwork(run, about.image_size, path), about
