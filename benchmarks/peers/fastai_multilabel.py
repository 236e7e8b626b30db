"""fastai's multi-label learner as its documentation starts it, on a table of tags: what is not tagged is absent.

    python benchmarks/peers/fastai_multilabel.py TAGS.csv TEST.csv IMAGES resnet50.safetensors SCORES.npz [EPOCHS]

For an environment of its own (pip install fastai safetensors); `first_hour.py` starts it. TAGS.csv: image, tags
(separated by ";"); TEST.csv: image. Writes the probabilities of the test images, their classes, and the seconds.
"""

import sys
import time

import numpy as np
import pandas as pd
import torch
from fastai.vision.all import (
    ImageDataLoaders,
    Normalize,
    Resize,
    ResizeMethod,
    aug_transforms,
    imagenet_stats,
    models,
    vision_learner,
)
from safetensors.torch import load_file

SIZE, BATCH = 224, 32


def resnet_v1(body: torch.nn.Sequential, weights: str) -> None:
    """Loads a Keras-style ResNet-50 into the body of a learner: the first blocks stride in their first convolution."""
    whole = models.resnet50()
    whole.load_state_dict({name: value.float() for name, value in load_file(weights).items()})
    for layer in (body[5], body[6], body[7]):
        layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
    body.load_state_dict(torch.nn.Sequential(*list(whole.children())[:-2]).state_dict())


def main() -> None:
    """Trains, scores the test images and writes the scores."""
    tags, test, images, weights, out = sys.argv[1:6]
    epochs = int(sys.argv[6]) if len(sys.argv) > 6 else 4
    torch.manual_seed(0)
    table, begun = pd.read_csv(tags, keep_default_na=False), time.perf_counter()
    data = ImageDataLoaders.from_df(
        table,
        path=images,
        fn_col="image",
        label_col="tags",
        label_delim=";",
        valid_pct=0.2,
        seed=0,
        bs=BATCH,
        num_workers=0,
        item_tfms=Resize(SIZE, method=ResizeMethod.Squish),
        batch_tfms=[*aug_transforms(size=SIZE), Normalize.from_stats(*imagenet_stats)],
        device=torch.device("cpu"),
    )
    learner = vision_learner(data, models.resnet50, pretrained=False, normalize=False)
    resnet_v1(learner.model[0], weights)
    learner.freeze()
    with learner.no_bar(), learner.no_logging():
        learner.fine_tune(epochs)
        seconds = time.perf_counter() - begun
        scores, _ = learner.get_preds(dl=data.test_dl(pd.read_csv(test)))
    np.savez(out, scores=scores.numpy(), classes=np.array(list(data.vocab)), seconds=seconds)


if __name__ == "__main__":
    main()
