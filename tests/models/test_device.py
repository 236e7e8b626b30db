"""The device that a name stands for."""

import pytest
import torch

from trilabel.errors import TrilabelError
from trilabel.models.device import choose_device


def test_auto_is_a_gpu_where_there_is_one(monkeypatch):
    for there_is_one, name in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there_is_one=there_is_one: there_is_one)
        assert choose_device("auto") == torch.device(name)
        assert choose_device("cpu") == torch.device("cpu")
    with pytest.raises(TrilabelError, match="'cuda' was asked for, but torch finds no GPU; use --device cpu or auto"):
        choose_device("cuda")
