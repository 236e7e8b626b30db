"""Several runs on a page: named apart, compared where that is fair, and told where it is not."""

from pathlib import Path

import numpy as np

from tests.report.page.test_page import sections_of, text_of
from tests.support.reported import write_completion, write_run
from trilabel.labels import Labels
from trilabel.report.page import names_of, overview_table, write_report
from trilabel.report.page.several import sections_of_several


def test_they_are_compared_class_by_class(tmp_path: Path) -> None:
    first = write_run(tmp_path / "one" / "run", ("cat", "dog", "sofa"))
    second = write_run(tmp_path / "two" / "run", ("dog", "cat", "bus"), seed=1)
    write_completion(second)
    facts = write_report([first.path, second.path])
    assert names_of(facts) == ["one/run", "two/run"]
    text = text_of(tmp_path / "report.html")
    assert "The runs have different classes" in text and "judged by different labels" in text
    assert sections_of(tmp_path / "report.html") == ["summary", "course", "trust", "classes"]
    header, rows = overview_table(facts, names_of(facts))
    assert header[:3] == ["run", "method", "images"] and [row[0] for row in rows] == ["one/run", "two/run"]
    assert rows[0][-1] == "—" and rows[1][header.index("holes filled")].endswith("%")
    (table,) = sections_of_several(facts)[-1].blocks
    names, known, one, two, difference = (column["values"] for column in table.columns)
    assert names == ["cat", "dog", "sofa", "bus"]
    assert known == [*Labels.load(first.labels).counts_per_class()[0].tolist(), None]
    aps = [facts[0].numbers.ap[0], facts[1].numbers.ap[1]]
    assert [one[0], two[0]] == [round(100 * value, 1) for value in aps]
    assert difference[0] == round(two[0] - one[0], 1) and difference[2:] == [None, None]
    assert one[3] is None and two[2] is None


def test_same_labels_and_settings_raise_no_doubt(tmp_path: Path) -> None:
    facts = write_report([write_run(tmp_path / name).path for name in "ab"])
    text = text_of(tmp_path / "report.html")
    assert "Keep in mind" not in text and "Where their settings differ" not in text
    assert np.array_equal(facts[0].numbers.ap, facts[1].numbers.ap)


def test_a_run_without_scores_is_there_all_the_same(tmp_path: Path) -> None:
    first, second = write_run(tmp_path / "a"), write_run(tmp_path / "b")
    second.validation_scores.unlink()
    facts = write_report([first.path, second.path, first.path])
    assert names_of(facts) == ["a (1)", "b", "a (3)"] or len(set(names_of(facts))) == 3
    text = text_of(tmp_path / "report.html")
    assert "b: Average precision, decisions and calibration are not shown: the run kept no scores" in text
