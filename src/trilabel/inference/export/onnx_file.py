"""ONNX files: written through torch.export, and run by onnxruntime (extra `onnx`)."""

import io
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trilabel.errors import TrilabelError, one_line
from trilabel.inference.export.about import About
from trilabel.inference.export.loaded import ExportedNetwork
from trilabel.inference.export.network import INPUT, OUTPUTS, DeployedNetwork, traced
from trilabel.input_files import check_regular

_MOST_BYTES = 2_000_000_000  # of a file that is one message of Protocol Buffers


def write_onnx(network: DeployedNetwork, about: About, path: Path) -> None:
    """Writes one file, with the description in its metadata."""
    onnx = required("onnx", path)
    required("onnxscript", path)
    size = sum(value.numel() * value.element_size() for value in network.state_dict().values())
    if size > _MOST_BYTES:
        raise TrilabelError(f"{path}: {size:,} bytes of weights, and ONNX files have at most 2 GB; export a .pt2 file")
    program = traced(network)
    try:
        with _quiet():
            exported: Any = torch.onnx.export(
                program, dynamo=True, input_names=[INPUT], output_names=list(OUTPUTS), verbose=False
            )
    except Exception as error:
        reason = str(error.__cause__ or error)
        raise TrilabelError(
            f"{path}: torch cannot write this network as ONNX ({one_line(ValueError(reason))}); export a .pt2 file"
        ) from error
    model = exported.model_proto
    _clean(model.graph)
    onnx.helper.set_model_props(model, {key: json.dumps(value) for key, value in about.to_json().items()})
    path.write_bytes(model.SerializeToString())


def open_onnx(path: Path, device: torch.device, asked: bool) -> tuple[ExportedNetwork, About]:
    """(the network, what the file says of itself). asked: whether the device was, by name."""
    runtime = required("onnxruntime", path)
    check_regular(path)
    providers: list[Any] = ["CPUExecutionProvider"]
    if device.type == "cuda":
        if "CUDAExecutionProvider" in runtime.get_available_providers():
            providers.insert(0, ("CUDAExecutionProvider", {"device_id": device.index or 0}))
        elif asked:
            raise TrilabelError(f"{path}: this onnxruntime has no GPU; install onnxruntime-gpu, or use --device cpu")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.intra_op_num_threads = torch.get_num_threads()
    try:
        session = runtime.InferenceSession(str(path), options, providers=providers)
        stored = session.get_modelmeta().custom_metadata_map
        values = {key: json.loads(text) for key, text in stored.items()}
    except Exception as error:  # onnxruntime has kinds of its own
        raise TrilabelError(f"{path}: not an ONNX file that can be run ({one_line(error)}); export again") from error
    about = About.from_json(values, path)
    given, found = session.get_inputs(), [output.name for output in session.get_outputs()]
    size = about.image_size
    if [(one.name, one.shape[1:]) for one in given] != [(INPUT, [size, size, 3])] or found != list(OUTPUTS):
        raise TrilabelError(f"{path}: other inputs or outputs than `trilabel export` writes; export again")

    def run(images: Tensor) -> Tensor:
        return torch.from_numpy(session.run([OUTPUTS[2]], {INPUT: images.cpu().numpy()})[0])

    return ExportedNetwork(run, size, path), about


def required(package: str, path: Path) -> Any:
    """The package, or an error that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise TrilabelError(f"{path}: needs {package}; install it (pip install 'trilabel[onnx]')") from None


def _clean(graph: Any) -> None:
    """Without notes on where the code is that a part was made of, and with a name for the number of images."""
    batch = graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for part in (*graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del part.metadata_props[:]
        part.doc_string = ""
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == batch:
                dim.dim_param = "batch"
    del graph.metadata_props[:]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch and onnxscript print, warn of and log about their own progress."""
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
