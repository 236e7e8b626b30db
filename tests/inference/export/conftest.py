"""A run folder made by hand, with secrets in it, and what it is exported to; made once, tests do not write into it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

import trilabel as tl
from tests.support.models_by_hand import CLASSES, random_classifier
from tests.support.pictures import pixels
from trilabel.config import Config
from trilabel.labels import Labels
from trilabel.training import checkpoint
from trilabel.training.decisions import Decisions
from trilabel.training.description import RunDescription
from trilabel.training.record import EpochRecord, Example
from trilabel.training.run_folder import RunFolder

SECRET = "nobodys-business"


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """.run, .onnx, .pt2, .folder, and .photos: image files of several kinds."""
    root = tmp_path_factory.mktemp(SECRET)
    run = RunFolder(root / "run")
    run.path.mkdir()
    weights, vectors = f"/home/{SECRET}/resnet.safetensors", f"C:\\{SECRET}\\words.txt"
    config = Config(method="posterior", weights=weights, settings={"sources": vectors}, teachers=(f"/{SECRET}/runs/a",))
    source = {"data": f"/home/{SECRET}/birds.csv", "images": f"/home/{SECRET}/photos", "hide": "keep-share=0.1"}
    known = np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (20, 3))
    labels = Labels.from_signed(known, CLASSES, [f"{SECRET}-{number}.jpg" for number in range(20)])
    run.describe(RunDescription(config, CLASSES, 16, source), labels, [f"{SECRET}.jpg"] * 7)
    followed = [Example(f"{SECRET}.jpg", CLASSES, [1, 0, -1], [0.5, 0.1, -1.0])]
    val = {"mAP": 0.71234, "CF1": 0.5, "images": 7, "known_share": 0.25}
    record = EpochRecord("fine-tune", 3, 0.5, val=val, examples=followed)
    classifier = random_classifier()
    with torch.no_grad():  # scores of a random network lie close together: spread them
        classifier.head.linear.weight.mul_(400)
    model = checkpoint.prefixed("model", classifier.state_dict())
    checkpoint.save(run.best, model | {"method.memory": torch.ones(20)}, record.to_json())
    Decisions(1.5, [0.2, 0.0, -0.3], [0.4, 0.5, 0.6], "fitted by hand").save(run.decisions)
    photos = root / "photos"
    photos.mkdir()
    for number, (suffix, mode) in enumerate(
        [("png", "RGB"), ("jpg", "RGB"), ("jpg", "L"), ("png", "P"), ("webp", "RGB")]
    ):
        Image.fromarray(pixels(60 + number, 80, 9 * number)).convert(mode).save(photos / f"{number}.{suffix}")
    turned = Image.Exif()
    turned[0x0112] = 6  # the camera lay on its side
    Image.fromarray(pixels(300, 200, 4)).save(photos / "turned.jpg", exif=turned)
    found = SimpleNamespace(root=root, run=run.path, photos=photos)
    for name, out in {"onnx": "model.onnx", "pt2": "model.pt2", "folder": "birds"}.items():
        setattr(found, name, tl.export(run.path, root / out).path)
    return found
