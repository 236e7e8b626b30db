"""Device names."""

import pytest
import torch

from trilabel.errors import TrilabelError
from trilabel.models.device import choose_device


def test_auto_is_a_gpu_if_there_is_one(monkeypatch):
    for available, device in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda answer=available: answer)
        assert choose_device("auto") == torch.device(device)
        assert choose_device("cpu") == torch.device("cpu")


def test_devices_that_are_not_there_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("cuda", "cuda:1"):
        with pytest.raises(TrilabelError, match=f"device '{name}' was requested, but torch finds no GPU"):
            choose_device(name)
    with pytest.raises(TrilabelError, match="no device named 'gpu'; use auto, cpu or cuda"):
        choose_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("cuda:1") == torch.device("cuda", 1)
