"""Which device to compute on."""

import torch

from trilabel.errors import TrilabelError


def choose_device(name: str) -> torch.device:
    """The device of this name; "auto" is a GPU if torch finds one, and the CPU otherwise."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise TrilabelError("device 'cuda' was asked for, but torch finds no GPU; use --device cpu or auto")
    return torch.device(name)
