"""The model card says what a hub and a person need, and names of classes cannot change what it is."""

import re

import numpy as np
import yaml

from tests.support.models_by_hand import CLASSES
from trilabel.config import Config
from trilabel.inference.export.card import Facts, write_card
from trilabel.training.description import RunDescription
from trilabel.training.record import EpochRecord


def parts_of(card):
    _, front, text = card.split("---\n", 2)
    return yaml.safe_load(front), text


def test_the_card_of_a_run(exported):
    front, text = parts_of((exported.folder / "README.md").read_text())
    assert front["library_name"] == "trilabel" and front["pipeline_tag"] == "image-classification"
    (model,) = front["model-index"]
    (result,) = model["results"]
    assert model["name"] == "birds"
    assert result["dataset"] == {"type": "birds-csv", "name": "birds.csv", "split": "validation"}
    assert [(metric["type"], metric["value"]) for metric in result["metrics"]] == [("mAP", 0.7123)]
    for words in (
        "# birds",
        "- Data: birds.csv",
        "- Training images: 20; validation images: 7",
        "are unknown, not absent",
        "- Labels hidden on purpose: keep-share=0.1, seed 0",
        "- Pretrained weights: resnet.safetensors",
        "- Epoch 3 of 0 (fine-tune), chosen by mAP on the validation images",
        "| validation | 7 | 25.0 | 71.2 | — | — |",
        "## Intended use and limits",
        "a threshold of its own (fitted by hand)",
    ):
        assert words in text
    assert re.findall(r"^\| (cat|dog|hen) \| \d+ \| \d+ \| (0\.\d+) \|$", text, re.MULTILINE) == [
        ("cat", "0.400"), ("dog", "0.500"), ("hen", "0.600")
    ]  # fmt: skip


def facts(classes=CLASSES, **others):
    about = RunDescription(Config(), list(classes), 16, {})
    given = Facts("a model", about, None, EpochRecord("fine-tune", 2, 0.5), 4, None, None, None, 0, None)
    return given._replace(**others)


def test_scores_that_were_measured_come_first_with_their_doubts():
    scores = {"split": "test", "images": 50, "known_share": 1.0, "mAP": 0.6, "CF1": None, "OF1": 0.5}
    front, text = parts_of(write_card(facts(scores=scores | {"warnings": ["3 of 50 images were seen"]})))
    assert "| test | 50 | 100.0 | 60.0 | — | 50.0 |" in text and "Note: 3 of 50 images were seen" in text
    assert [metric["type"] for metric in front["model-index"][0]["results"][0]["metrics"]] == ["mAP", "OF1"]


def test_without_validation_and_labels():
    front, text = parts_of(write_card(facts()))
    assert "model-index" not in front and "None were measured" in text and "Known training labels" not in text


def test_names_are_only_names():
    evil = ["---\nlicense: mit", "<script>x</script>", "a|b", "[x](https://y)", "\x1b[2J", "`code`"]
    counts = np.arange(6)
    front, text = parts_of(write_card(facts(evil, name="**x**: y", positives=counts, negatives=counts, images=9)))
    assert "license" not in front and "<script>" not in text and "\x1b" not in text
    assert "](https" not in text.replace("\\]", "")
    rows = text.partition("| --- | ---: | ---: | ---: |")[2].strip().splitlines()
    assert len(rows) == 6 and all(len(re.split(r"(?<!\\)\|", row)) == 6 for row in rows)
