"""The device of a name."""

import torch

from trilabel.errors import TrilabelError


def choose_device(name: str) -> torch.device:
    """The device of that name; "auto" is the GPU where torch finds one, otherwise the CPU.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise TrilabelError(f"no device named {name!r}; use auto, cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise TrilabelError(f"device {name!r} was requested, but torch finds no GPU; use --device cpu or auto")
    return device
