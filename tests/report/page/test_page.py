"""What a page says of a run, and what it says where something is missing."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.reported import HOSTILE, write_completion, write_run
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.report.page import PageOptions, default_path, write_report
from trilabel.training.description import write_description
from trilabel.training.run_folder import RunFolder


class Text(HTMLParser):
    """The text of a page, without styles and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.parts, self.inside = list[str](), ""
        self.ids = set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.ids |= {value for name, value in attrs if name == "id" and value}

    def handle_data(self, data: str) -> None:
        if self.inside not in ("style", "script"):
            self.parts.append(data)


def text_of(file: Path) -> str:
    parser = Text()
    parser.feed(file.read_text(encoding="utf-8"))
    return " ".join(" ".join(parser.parts).split()).replace("\N{NO-BREAK SPACE}", " ")


def sections_of(file: Path) -> list[str]:
    return re.findall(r'<section id="(\w+)">', file.read_text(encoding="utf-8"))


def test_a_trained_run_is_shown_in_full(small_run: tuple[RunFolder, Dataset], tmp_path: Path) -> None:
    run, dataset = small_run
    (facts,) = write_report([run.path], tmp_path / "page.html", PageOptions(lambda path: dataset))
    assert facts.gaps == [] and facts.numbers is not None and facts.best is not None
    assert facts.numbers.overall["mAP"] == pytest.approx(facts.best.val["mAP"], abs=1e-12)
    assert sections_of(tmp_path / "page.html") == [
        "summary", "known", "course", "classes", "trust", "unknown", "images", "details",
    ]  # fmt: skip
    text = text_of(tmp_path / "page.html")
    assert f"mAP {100 * facts.numbers.overall['mAP']:.1f} %" in text
    assert "Judged by 672 known labels of 48 validation images." in text
    assert "large-loss scored unknown labels like this" in text and "% of these rightly" in text
    assert "Of the positives that were hidden on purpose" in text
    assert "Thresholds were fitted on these same labels" in text
    page = (tmp_path / "page.html").read_text()
    assert page.count('class="frame"') == 12 + 6 and 0 < page.count('class="map"') <= 12
    assert page.count('data-map="') + page.count("seen nowhere") == 12 * 4


def test_without_data_it_is_made_from_the_folder_alone(small_run: tuple[RunFolder, Dataset], tmp_path: Path) -> None:
    run = RunFolder(Path(shutil.copytree(small_run[0].path, tmp_path / "run")))
    run.best.unlink()
    (facts,) = write_report([run.path])
    assert facts.gaps == [] and "data:image" not in default_path([run.path]).read_text(encoding="utf-8")
    assert "images" in sections_of(run.report), "best and worst images are named, if not shown"


def test_another_split_can_judge(small_run: tuple[RunFolder, Dataset], tmp_path: Path) -> None:
    run, dataset = small_run
    options = PageOptions(lambda path: dataset, pictures=False, split="test")
    (facts,) = write_report([run.path], tmp_path / "page.html", options)
    assert facts.judged is not None and facts.judged.labels == dataset.labels[dataset.rows_of("test")]
    text = text_of(tmp_path / "page.html")
    assert "48 images of split 'test', scored for this page" in text and "fitted on these same labels" not in text
    with pytest.raises(TrilabelError, match="no split named 'tset'"):
        write_report([run.path], tmp_path / "page.html", replace(options, split="tset"))


def test_scores_that_were_not_kept_are_computed(small_run: tuple[RunFolder, Dataset], tmp_path: Path) -> None:
    run = RunFolder(Path(shutil.copytree(small_run[0].path, tmp_path / "run")))
    run.validation_scores.unlink()
    (facts,) = write_report([run.path], options=PageOptions(lambda path: small_run[1], pictures=False))
    assert facts.numbers is not None and facts.best is not None
    assert facts.numbers.overall["mAP"] == pytest.approx(facts.best.val["mAP"], abs=1e-6)
    assert "48 validation images, scored for this page" in text_of(run.report)
    (facts,) = write_report([run.path])
    assert facts.numbers is None and "the run kept no scores; --split NAME scores" in facts.gaps[0].replace("`", "")


def no_data(path: Path) -> Dataset:
    raise TrilabelError(f"{path}: no such file or folder")


MISSING: dict[str, tuple[Callable[[RunFolder], object], str]] = {
    "labels": (lambda run: run.labels.unlink(), "labels.npz was removed from the run folder"),
    "damaged labels": (lambda run: run.labels.write_bytes(b"x"), "labels.npz: not a labels file"),
    "damaged scores": (lambda run: run.validation_scores.write_bytes(b"x"), "validation_scores.npy: damaged"),
    "scores": (lambda run: run.validation_scores.unlink(), "the run kept no scores"),
    "decisions": (lambda run: run.decisions.write_text("{}"), "Probabilities are not calibrated: "),
    "completion": (lambda run: run.completion.write_text("[1]"), "What complete decided is not shown: "),
    "entries": (lambda run: run.completion.write_text('{"classes": [7]}'), "What complete decided is not shown: "),
    "mistakes": (lambda run: run.mistakes.write_text("image,class\na,b\n"), "Suspected mistakes are not shown: "),
    "numbers": (
        lambda run: run.mistakes.write_text("image,class,known,probability,expected\na,b,1,nan,\n"),
        "Suspected mistakes are not shown: ",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_is_told(tmp_path: Path, name: str) -> None:
    run = write_run(tmp_path / "run")
    write_completion(run)
    remove, words = MISSING[name]
    remove(run)
    (facts,) = write_report([run.path])
    assert [gap for gap in facts.gaps if words in gap], facts.gaps
    assert "What this page cannot show" in text_of(run.report) and words in text_of(run.report).replace("`", "")


def test_data_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (facts,) = write_report([run.path], options=PageOptions(no_data))
    assert facts.gaps == [f"There are no pictures, as the data cannot be read: {run.path}: no such file or folder"]


def test_a_run_without_validation_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    for file in (run.validation_scores, run.validation_labels):
        file.unlink()
    run.validation_images.write_text("[]")
    about = replace(run.read(), config=Config(val="none"))
    write_description(run.path / "config.json", about)
    (facts,) = write_report([run.path], options=PageOptions(no_data, pictures=False))
    assert len(facts.gaps) == 1 and "the run has no validation images" in facts.gaps[0]
    assert {"known", "course", "classes"} <= set(sections_of(run.report)) and "trust" not in sections_of(run.report)


def test_positives_alone_are_not_called_good(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", negatives=False)
    (facts,) = write_report([run.path])
    text = text_of(run.report)
    assert "Nothing is known to be absent among these images: unknown counts as absent" in text
    assert "Calibration cannot be judged" in text and facts.numbers is not None and facts.numbers.error_after is None


def test_scores_of_an_earlier_epoch_are_told(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    run.best.unlink()
    other = write_run(tmp_path / "other", seed=1)
    shutil.copy(other.best, run.best)
    write_report([run.path])
    assert "Classes are judged by the scores of an earlier epoch" in text_of(run.report)


def test_what_complete_decided_is_told_with_what_it_rests_on(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_completion(run)
    write_report([run.path])
    text = text_of(run.report)
    assert "at least 95 % of positives and 90 % of negatives are right, with a confidence of 90 %" in text
    assert "Made on 2026-03-04" in text and "more labels needed cat" in text
    assert "6 as present, 9 as absent, as promised" in text and "by its score alone" in text
    assert "labelled present, probability 2.0 %" in text and "up to here about 75 % are true mistakes" in text
    write_completion(run, "assumption")
    write_report([run.path])
    text = text_of(run.report)
    assert "An assumption, not a promise" in text and "one <i>positive</i> an image" in text
    assert "at least 95 %" not in text
    write_completion(run, "audit")
    write_report([run.path])
    assert "answers of people to questions drawn at random" in text_of(run.report)


def test_only_a_folder_that_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match="not a run folder"):
        write_report([tmp_path])
    run = write_run(tmp_path / "run")
    run.metrics.unlink()
    with pytest.raises(TrilabelError, match="this run has not finished an epoch yet"):
        write_report([run.path])


def test_the_page_needs_nothing_else_and_runs_no_other_script(tmp_path: Path) -> None:
    """Also without a browser: no address of elsewhere, hostile names escaped, and a policy that allows our script."""
    run = write_run(tmp_path / "run", HOSTILE, ids="<script>{}")
    write_completion(run)
    write_report([run.path])
    page = run.report.read_text(encoding="utf-8")
    assert re.findall(r"https?://(?!www\.w3\.org)", page) == [] and "@import" not in page
    assert page.count("<script") == 2 and page.count("</script") == 2
    assert "default-src &#39;none&#39;" in page and "script-src &#39;sha256-" in page
    data = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert data is not None and json.loads(data[1])["columns"][0]["values"][0] == HOSTILE[0]
    page.encode("ascii", "xmlcharrefreplace")  # no lone surrogate that could not be written


def test_where_the_page_goes(tmp_path: Path) -> None:
    assert default_path([Path("runs/a")]) == Path("runs/a/report.html")
    assert default_path([Path("runs/a"), Path("runs/b/c")]) == Path("runs/report.html")
    assert default_path([tmp_path / "a", Path("b")]).is_absolute()
