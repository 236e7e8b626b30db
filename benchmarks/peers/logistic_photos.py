"""A script as people write it today: features of a ResNet-50 by torchvision, logistic regression by scikit-learn.

    python benchmarks/peers/logistic_photos.py LABELS.csv TEST.csv IMAGES resnet50.safetensors SCORES.npz known|absent

LABELS.csv: image and a column per class (1, 0, empty); TEST.csv: image. Unknown labels are left out, or absent. Writes
the probabilities of the test images and the seconds from the start of the process to the last fit. `first_hour.py`
starts it.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

SIZE, BATCH, STRENGTH = 224, 32, 10
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Photos(Dataset[Any]):
    """The images of a table, ready for the network."""

    def __init__(self, folder: str, names: list[str]) -> None:
        self.paths = [Path(folder, name) for name in names]
        to_tensor = [transforms.Resize((SIZE, SIZE)), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
        self.prepare = transforms.Compose(to_tensor)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        return self.prepare(Image.open(self.paths[index]).convert("RGB"))


@torch.inference_mode()
def features(network: torch.nn.Module, folder: str, names: list[str]) -> NDArray[np.float32]:
    """Averaged over the image, scaled to length 1."""
    loader = DataLoader(Photos(folder, names), batch_size=BATCH, num_workers=2)
    return np.asarray(normalize(torch.cat([network(images) for images in loader]).numpy()))


def main() -> None:
    """Fits, scores the test images and writes the scores."""
    labels, test, images, weights, out, unknown = sys.argv[1:7]
    table, others = pd.read_csv(labels), pd.read_csv(test)["image"].tolist()
    network = models.resnet50()
    network.load_state_dict({name: value.float() for name, value in load_file(weights).items()})
    for layer in (network.layer2, network.layer3, network.layer4):  # these weights are those of Keras
        layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
    network.fc = torch.nn.Identity()
    network.eval()
    x, classes = features(network, images, table["image"].tolist()), list(table.columns[1:])
    fits = []
    for name in classes:
        y = table[name].fillna(0) if unknown == "absent" else table[name]
        known = y.notna().to_numpy()
        both = y[known].nunique() == 2
        fits.append(LogisticRegression(C=STRENGTH, max_iter=1000).fit(x[known], y[known]) if both else None)
    seconds = time.time() - psutil.Process().create_time()
    found = features(network, images, others)
    scores = [fit.predict_proba(found)[:, 1] if fit else np.zeros(len(found)) for fit in fits]
    np.savez(out, scores=np.stack(scores, 1), seconds=seconds)


if __name__ == "__main__":
    main()
