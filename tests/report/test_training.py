"""How a run went: the table and the picture say what was recorded, and only that."""

from pathlib import Path

from PIL import Image

from trilabel.report import plots, training
from trilabel.training.record import EpochRecord

PLAIN = EpochRecord("fine-tune", 1, 0.5)
FULL = [EpochRecord.from_json(values) for values in (
    {
        "stage": "linear", "epoch": 1, "loss": 0.4, "val": {"mAP": 0.5, "CF1": None},
        "unknown": {"as_absent": 100, "as_absent_right": 0.9, "left_out": 0, "as_present": 0},
        "mean_loss": {"known_positives": 1.5, "true_negatives": 0.25, "hidden_positives": 0.75},
    },
    {
        "stage": "fine-tune", "epoch": 1, "loss": 0.3, "val": {"mAP": 0.75, "CF1": 0.25},
        "unknown": {"as_absent": 75, "as_absent_right": 1.0, "left_out": 25, "left_out_right": 0.8, "as_present": 0},
        "mean_loss": {"known_positives": 1.0, "true_negatives": 0.125, "hidden_positives": 1.25},
        "highest_loss_in_first_epoch": {"known_positives": 1.0, "hidden_positives": 0.25},
    },
)]  # fmt: skip


def test_the_table_has_the_columns_that_have_something_to_say():
    header, rows = training.table([PLAIN])
    assert header == ["stage", "epoch", "loss"] and rows == [["fine-tune", "1", "0.5000"]]
    header, rows = training.table(FULL)
    second = dict(zip(header, rows[1], strict=True))
    assert second["val mAP %"] == "75.0" and second["unknown left out %"] == "25.0"
    assert second["left out rightly %"] == "80.0" and second["loss of hidden positives"] == "1.2500"
    first = dict(zip(header, rows[0], strict=True))
    assert first["unknown left out %"] == "—" and first["val CF1 %"] == "—"
    assert not any("treated as present" in name for name in header)


def test_the_picture_draws_each_series_at_its_epochs():
    axes = training.picture(FULL).axes
    assert [each.get_title(loc="left") for each in axes] == [
        "Training", "Validation", "Loss of labels as known or assumed", "How unknown labels were treated"
    ]  # fmt: skip
    captions = [each.texts[0].get_text() for each in axes]
    assert captions[0].startswith("What training makes small") and "unknown labels" in captions[3]
    drawn = {line.get_label(): line.get_xydata().tolist() for each in axes for line in each.get_lines()}
    assert drawn["loss"] == [[1, 0.4], [2, 0.3]]
    assert drawn["mAP"] == [[1, 50], [2, 75]] and drawn["CF1"] == [[2, 25]]
    assert drawn["hidden positives"] == [[1, 0.75], [2, 1.25]]
    assert drawn["left out"] == [[2, 25]] and drawn["left out, rightly"] == [[2, 80]]
    boundaries = [line.get_xdata()[0] for line in axes[0].get_lines() if line.get_linestyle() == ":"]
    assert boundaries == [1.5]
    assert [each.get_title(loc="left") for each in training.picture([PLAIN]).axes] == ["Training"]


def test_the_picture_marks_the_epoch_that_is_kept():
    for axes in training.picture(FULL, FULL[1]).axes:
        assert [line.get_xdata()[0] for line in axes.get_lines() if line.get_label() == "best epoch"] == [2]
    elsewhere = EpochRecord("linear", 7, 0.1)
    assert "best epoch" not in {line.get_label() for line in training.picture(FULL, elsewhere).axes[0].get_lines()}


def test_lines_without_a_break_between_stages(tmp_path: Path):
    figure = plots.lines([plots.Lines("t", "%", {"a": [1.0, None, 3.0]})], ["x", "x", "x"])
    assert len(figure.axes[0].get_lines()) == 1
    plots.save(figure, tmp_path / "lines.png")
    with Image.open(tmp_path / "lines.png") as picture:
        assert picture.size[0] > 300


def test_the_table_says_how_many_hidden_labels_are_found():
    counts = {"hidden_positives": [3] + [0] * 18 + [1], "hidden_negatives": [1] * 20}
    header, rows = training.table([PLAIN, EpochRecord("fine-tune", 2, 0.5, probabilities=counts)])
    assert header[3:] == ["hidden positives above 0.5 %", "hidden negatives above 0.5 %"]
    assert [row[3:] for row in rows] == [["—", "—"], ["25.0", "50.0"]]


def test_targets_between_present_and_absent_are_told_in_lines():
    assert training.soft_targets(FULL) == []
    parts = {"unknown_target": 0.1, "positives_known": 0.5, "positives_known_lowest": 0.1}
    parts |= {"positives_known_highest": 0.9, "negatives_known": 0.0}
    counts = {"as_absent": 9000, "as_present": 1234}
    told = EpochRecord.from_json({"stage": "linear", "epoch": 2, "loss": 0.4, "parts": parts, "unknown": counts})
    rates = ["present labels are known 0.50 of the time (0.10 to 0.90)", "absent labels are known 0.00 of the time"]
    assert training.soft_targets([told]) == [*rates, "targets of unknown labels above 0.5, linear 2: 1,234"]
    judged = {**counts, "as_present_right": 0.912, "calibration_error": 0.0123}
    of_one = {"stage": "linear", "epoch": 3, "loss": 0.4, "parts": {"unknown_target": 0.1}, "unknown": judged}
    assert training.soft_targets([told, EpochRecord.from_json(of_one), PLAIN]) == [
        "targets of unknown labels above 0.5, linear 3: 1,234, 91.2 % of them rightly",
        "calibration error of the targets of unknown labels: 1.2 %",
    ]
