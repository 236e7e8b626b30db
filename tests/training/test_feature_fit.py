"""A fit in memory ends at the weights of the linear stage of a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.scenes import scenes
from trilabel.labels import simulate
from trilabel.methods import METHODS, check_method
from trilabel.models import FeatureClassifier, create_model
from trilabel.training.api import train
from trilabel.training.feature_fit import FeatureFit
from trilabel.training.reach import choose_reach
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import validation_truth

CASES: dict[str, dict[str, Any]] = {
    "a head that is fitted": {},
    "averaged weights": {"ema": 0.9},
    "a warm-up of the method": {"method": "posterior", "settings": {"rates": "fit", "fit_epochs": 1}},
    "a table of estimates": {"method": "role", "settings": {"expected_positives": 2.0}},
    "a pass before epochs": {"method": "imcl"},
    "a given rate, several batches together": {"linear_lr": 0.01, "accumulate": 2, "clip_gradient": 1.0},
}


@pytest.fixture(scope="module")
def drawn() -> Dataset:
    dataset = scenes(train=80, val=1, test=1, size=32)
    rows = dataset.rows_of("train")
    return dataset.with_labels(simulate.apply_to_rows(dataset.labels, rows, "keep-share=0.5", 0)).take(rows)


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_it_ends_where_the_loop_does(drawn: Dataset, quick: Config, tmp_path: Path, changes: dict[str, Any]) -> None:
    run = train(drawn, replace(quick, stages="linear", val="none", epochs=2), tmp_path / "run", **changes)
    config, (model, _) = run.config, RunFolder(run.folder).classifier()
    with torch.inference_mode():
        features = model.eval().reduce_features(Views(model.backbone.mean, model.backbone.std).plain(drawn.images))
    features = features.clone()
    torch.manual_seed(config.seed)  # from here on the same draws as those of a run that starts
    head = create_model(config, len(drawn.classes), None, None, drawn.labels).head
    settings = check_method(config.method, config.settings, drawn.labels)
    method = METHODS[config.method](settings, drawn.labels, features.shape[1])
    reach = None
    if config.linear_lr is None:
        head.fit_normalization(features)
        reach = choose_reach(head.normalized(features), validation_truth(drawn.labels))
    FeatureFit(config, FeatureClassifier(head), method, features, drawn.labels, reach=reach).run()
    found = head.state_dict()
    for name, weights in model.head.state_dict().items():
        torch.testing.assert_close(found[name], weights, rtol=1e-4, atol=1e-5)
