"""Runs of any shape make a page: one class, one image, nothing known, everything known, scores without limits."""

import re
from pathlib import Path

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trilabel.config import Config
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.report.page import PageOptions, sections_of_one
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.judged import Judged
from trilabel.report.page.numbers import numbers_of
from trilabel.report.page.render import render
from trilabel.report.page.several import sections_of_several
from trilabel.training.decisions import fit_decisions
from trilabel.training.description import RunDescription
from trilabel.training.record import EpochRecord, Relabelled, UnknownTargets
from trilabel.training.run_folder import RunFolder

SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 30))
RECORDS = st.builds(
    EpochRecord,
    st.sampled_from(["linear", "fine-tune"]),
    st.integers(1, 4),
    st.floats(0, 1e6),
    seconds=st.floats(0, 1e6),
    relabelled=st.none() | st.just(Relabelled(3, 4, 0.5)),
    unknown=st.none() | st.builds(UnknownTargets, st.integers(0, 9), st.integers(0, 9), as_present_right=st.just(0.5)),
    probabilities=st.just({}) | st.just({"known_positives": [0] * 20, "unknown": [7] * 20}),
    val=st.just({}) | st.just({"mAP": None, "CF1": 0.5}),
)


@settings(max_examples=15)
@given(st.data(), SHAPES, st.lists(RECORDS, min_size=1, max_size=3))
def test_any_run_makes_a_page(data: st.DataObject, shape: tuple[int, int], history: list[EpochRecord]) -> None:
    signs = data.draw(arrays(np.int8, shape, elements=st.integers(-1, 1)))
    logits = data.draw(arrays(np.float32, shape, elements=st.floats(-200, 200, width=32)))
    labels = Labels.from_signed(signs, [f"class {number}" for number in range(shape[1])])
    judged = Judged(torch.from_numpy(logits), labels, "images", True)
    decisions = fit_decisions(judged.logits, labels, expected_positives(labels))
    about = RunDescription(Config(), list(labels.classes), 32, {})
    facts = RunFacts(RunFolder(Path("runs/odd")), about, history, history[-1], labels, judged, decisions)
    facts.numbers = numbers_of(judged, decisions)
    for sections in (sections_of_one(facts, PageOptions()), sections_of_several([facts, facts])):
        page = render("odd", "runs/odd", sections)
        assert re.findall(r"\b(?:nan|inf|None)\b", page) == []
