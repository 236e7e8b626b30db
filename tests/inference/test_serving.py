"""Predictions into a file: the same whatever batches, processes and interruptions; resumed only as they were begun."""

import json
import signal

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import trilabel as tl
from tests.support import two_processes
from tests.support.models_by_hand import CLASSES, CPU, SIZE, dataset, random_classifier, with_boxes
from tests.support.runs import killed_at_batch
from tests.support.stopped import stopped_command
from trilabel.cli.main import main
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.inference import evaluation, processes, serving
from trilabel.inference.parts import Part, Parts, is_finished, is_stopped, parts_folder
from trilabel.inference.prediction_files import FILES, Layout
from trilabel.inference.predictor import Model
from trilabel.labels import Labels
from trilabel.locks import try_lock
from trilabel.training import checkpoint
from trilabel.training.description import RunDescription
from trilabel.training.record import EpochRecord
from trilabel.training.run_folder import RunFolder

COUNT = 23


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run folder made by hand, and photos, of which two are broken."""
    root = tmp_path_factory.mktemp("serving")
    run = RunFolder(root / "run")
    run.path.mkdir()
    run.describe(RunDescription(Config(), CLASSES, SIZE, {}), Labels.from_signed(np.ones((2, 3), np.int8), CLASSES))
    record = EpochRecord("fine-tune", 10, 0.5).to_json()
    checkpoint.save(run.best, checkpoint.prefixed("model", random_classifier().state_dict()), record)
    draw = np.random.default_rng(0)
    for folder, broken in (("photos", ()), ("some-broken", (3, 10))):
        (root / folder).mkdir()
        for number in range(COUNT):
            file = root / folder / f"{number:02d}.png"
            Image.fromarray(draw.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)).save(file)
            if number in broken:
                data = bytearray(file.read_bytes())
                data[len(data) // 2] ^= 0xFF  # only decoding finds out
                file.write_bytes(data)
    (root / "some-broken/05.png").write_bytes(b"")  # seen at once
    return root


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(serving, "IMAGES_PER_PART", 4)


def model_of(place):
    return tl.load(place / "run", "cpu")


def predict(place, out, photos="photos", model=None, **options):
    given = {"batch_size": 2, "workers": 0, **options}
    return (model or model_of(place)).predict_to_file(place / photos, out, **given)


@pytest.mark.parametrize("suffix", FILES)
def test_the_file_is_that_of_all_predictions_at_once(place, tmp_path, suffix):
    expected = model_of(place).predict(place / "photos", 2, 0)
    seen = []
    written = predict(place, tmp_path / f"found{suffix}", on_part=seen.append)
    assert written.path == tmp_path / f"found{suffix}" and (written.images, written.left_out) == (COUNT, ())
    assert [len(part.ids) for part in seen] == [4, 4, 4, 4, 4, 3]
    assert list(tmp_path.iterdir()) == [written.path], "nothing else is left"
    if suffix == ".csv":
        expected.to_csv(tmp_path / "expected.csv")
        assert written.path.read_text() == (tmp_path / "expected.csv").read_text()
        table = pd.read_csv(written.path)
    elif suffix == ".parquet":
        table = pd.read_parquet(written.path)
    else:
        text = written.path.read_text()
        records = json.loads(text) if suffix == ".json" else [json.loads(line) for line in text.splitlines()]
        assert records == expected.to_records()
        table = pd.DataFrame([{"image": record["image"], **record["scores"]} for record in records])
    assert table["image"].tolist() == expected.ids and list(table.columns[1:]) == CLASSES
    np.testing.assert_allclose(table[CLASSES].to_numpy(), expected.scores, atol=1e-6)


def test_the_order_of_parts_does_not_change_the_file(place, tmp_path, monkeypatch):
    """As if several processes had made them, each every n-th."""
    predict(place, tmp_path / "one.csv", "some-broken", broken="skip")
    for devices in (2, 3, 9):
        monkeypatch.setattr(
            serving,
            "in_processes",
            lambda work, again, count, then: [work(again(rank), rank, count) for rank in reversed(range(count))],
        )
        written = predict(place, tmp_path / f"{devices}.csv", "some-broken", broken="skip", devices=devices)
        assert (tmp_path / f"{devices}.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
        names = [message.split(": ")[0].rpartition("/")[2] for message in written.left_out]
        assert names == ["03.png", "05.png", "10.png"] and written.images == COUNT - 3


def test_two_processes(place, tmp_path, in_two, monkeypatch):
    """They meet nowhere but in the folder of the parts."""

    def in_processes(work, again, devices, then):
        in_two(two_processes.serve, (processes._Task(work, again), Config(devices=devices)))

    for module in (serving, evaluation):
        monkeypatch.setattr(module, "in_processes", in_processes)
    predict(place, tmp_path / "one.csv")
    assert predict(place, tmp_path / "two.csv", devices=2).images == COUNT
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    data = labelled(place)
    one, two = (model_of(place).evaluate(data, devices=devices, batch_size=4, workers=0) for devices in (1, 2))
    assert one["mAP"] == two["mAP"] and one["exact_match"] == two["exact_match"] and two["images"] == COUNT


@pytest.mark.slow
def test_processes_started_by_commands(place, tmp_path, capsys):
    words = [str(word) for word in ("predict", place / "run", place / "photos", "--workers", 0, "--out")]
    assert main([*words, str(tmp_path / "one.csv")]) == 0
    assert main([*words, str(tmp_path / "two.csv"), "--devices", "2"]) == 0
    one, two = (pd.read_csv(tmp_path / name) for name in ("one.csv", "two.csv"))
    assert one["image"].equals(two["image"])
    np.testing.assert_allclose(one[CLASSES], two[CLASSES], atol=2e-6)
    table = pd.DataFrame({"image": [f"{number:02d}.png" for number in range(COUNT)]}).assign(
        **dict.fromkeys(CLASSES, 0)
    )
    table.loc[::2, CLASSES] = 1
    table.to_csv(tmp_path / "labels.csv", index=False)
    words = ["evaluate", str(place / "run"), str(tmp_path / "labels.csv"), "--images", str(place / "photos")]
    results = []
    for devices in ("1", "2"):
        capsys.readouterr()
        assert main([*words, "--split", "all", "--json", "--devices", devices]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["mAP"] == pytest.approx(results[1]["mAP"]) and results[1]["images"] == COUNT


def labelled(place):
    """The photos with labels, of which a third are unknown."""
    paths = [str(file) for file in sorted((place / "photos").iterdir())]
    return dataset(paths, np.random.default_rng(1).choice(np.array([-1, 0, 1], np.int8), (COUNT, 3)), paths=paths)


@pytest.mark.parametrize("batch", [1, 2, 3, 8, 12])
def test_goes_on_where_it_was_stopped(place, tmp_path, batch, caplog):
    expected, out = tmp_path / "expected.csv", tmp_path / "found.csv"
    predict(place, expected, "some-broken", broken="skip")
    with killed_at_batch(batch):
        predict(place, out, "some-broken", broken="skip")
    done = len(list(tmp_path.glob("found.csv.parts/*.npz")))
    assert done == (batch - 1) // 2 and not out.exists() and is_stopped(out) == bool(done)
    if done:
        assert f"{done} of 6 parts are kept; --resume goes on from there" in caplog.text
        with pytest.raises(TrilabelError, match="were stopped; pass --resume to go on, or --overwrite"):
            predict(place, out, "some-broken", broken="skip")
    with killed_at_batch(2):
        predict(place, out, "some-broken", broken="skip", resume=True)
    written = predict(place, out, "some-broken", broken="skip", resume=True)
    assert out.read_bytes() == expected.read_bytes() and len(written.left_out) == 3
    assert sorted(tmp_path.iterdir()) == [expected, out]


@pytest.mark.slow  # tests/reliability kills it in many places, from processes that are there already
@pytest.mark.parametrize("file", ["000000.npz", "found.csv"])
def test_killed_by_the_system_before_a_file_is_in_place(place, tmp_path, file, monkeypatch):
    monkeypatch.setattr(serving, "IMAGES_PER_PART", 1024)  # as in the process that is killed
    out = tmp_path / "found.csv"
    words = [str(word) for word in ("predict", place / "run", place / "photos", "--workers", 0, "--out")]
    assert main([*words, str(tmp_path / "expected/found.csv")]) == 0
    ended = stopped_command([*words, out], signal.SIGKILL, file, before=True)
    assert ended.returncode == -signal.SIGKILL and not out.exists() and is_stopped(out)
    assert main([*words, str(out)]) == 1
    assert main([*words, str(out), "--resume"]) == 0
    assert out.read_bytes() == (tmp_path / "expected/found.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["expected", "found.csv"]
    assert main([*words, str(out), "--resume"]) == 0, "finished already"


def test_resumed_only_as_it_was_begun(place, tmp_path):
    out = tmp_path / "found.csv"

    def stop():
        with killed_at_batch(6):
            predict(place, out, overwrite=True)

    stop()
    for options, what in (
        ({"photos": "some-broken"}, "list of images"),
        ({"batch_size": 4}, "--batch-size"),
        ({"broken": "skip"}, "--broken"),
    ):
        with pytest.raises(TrilabelError, match=rf"begun with another {what}.*--overwrite"):
            predict(place, out, resume=True, **options)
    other = model_of(place)
    other.files = (place / "photos/00.png",)
    with pytest.raises(TrilabelError, match="begun with another model"):
        predict(place, out, resume=True, model=other)
    (parts_folder(out) / "about.json").write_text("{")
    with pytest.raises(TrilabelError, match=r"about\.json: damaged"):
        predict(place, out, resume=True)
    stop()
    (parts_folder(out) / "000001.npz").write_bytes(b"no archive")
    with pytest.raises(TrilabelError, match=r"000001\.npz: damaged.*remove it and resume again"):
        predict(place, out, resume=True)
    (parts_folder(out) / "000001.npz").unlink()
    assert predict(place, out, resume=True).images == COUNT
    with pytest.raises(TrilabelError, match="this file exists"):
        predict(place, out)
    assert is_finished(out) and predict(place, out, overwrite=True).images == COUNT


def test_one_process_writes_a_file(place, tmp_path):
    out = tmp_path / "found.csv"
    parts_folder(out).mkdir()
    with try_lock(parts_folder(out) / "parts", "predict") as mine:
        assert mine
        with pytest.raises(TrilabelError, match=r"found\.csv: process \d+ on .* is writing it"):
            predict(place, out)
    (parts_folder(out) / "000000.npz").write_bytes(b"left by one that was killed when all was done")
    assert predict(place, out).images == COUNT


def test_a_broken_image_leaves_what_was_done(place, tmp_path):
    out = tmp_path / "found.csv"
    with pytest.raises(TrilabelError, match=r"05\.png: broken image \(empty file\)"):
        predict(place, out, "some-broken")
    assert list(tmp_path.iterdir()) == []
    good = [place / "some-broken" / f"{number:02d}.png" for number in (0, 1, 2, 4, 6, 7, 8, 9, 10)]
    with pytest.raises(TrilabelError, match=r"10\.png: broken image"):
        model_of(place).predict_to_file(good, out, 2, 0)
    assert len(list(parts_folder(out).glob("*.npz"))) == 2


def test_what_cannot_be_written(place, tmp_path):
    for out, words in (
        (tmp_path / "x.xls", r"must end in \.csv, \.parquet, \.json or \.jsonl"),
        (tmp_path, "must end"),
    ):
        with pytest.raises(TrilabelError, match=words):
            predict(place, out)
    with pytest.raises(TrilabelError, match="image files"):
        model_of(place).predict_to_file(np.zeros((1, 8, 8, 3), np.uint8), tmp_path / "x.csv")
    by_hand = Model(random_classifier(), CLASSES, CPU)
    with pytest.raises(TrilabelError, match="devices must be 1"):
        predict(place, tmp_path / "x.csv", model=by_hand, devices=2)


def test_a_part_is_a_range_of_images(tmp_path):
    parts = Parts(tmp_path, 10, 2, 4)
    assert parts.count == 3 and [parts.positions(number).tolist() for number in range(3)] == [
        [0, 1, 2, 3], [4, 5, 6, 7], [8, 9]
    ]  # fmt: skip
    part = Part(np.array([4, 6]), np.ones((2, 2), np.float32), ["5: broken", "7: \x1b"])
    parts.write(1, part)
    assert parts.missing() == [0, 2] and parts.read(1).left_out == part.left_out
    parts.write(0, part._replace(scores=np.ones((2, 3), np.float32)))
    with pytest.raises(TrilabelError, match="scores of other images or classes"):
        parts.read(0)


def test_batches_one_by_one(place):
    model = model_of(place)
    batches = list(model.predict_batches(place / "some-broken", 6, 0, "skip"))
    assert [len(batch.ids) for batch in batches] == [5, 5, 6, 4] and sum(len(batch.left_out) for batch in batches) == 3
    whole = model.predict(place / "some-broken", 6, 0, "skip")
    assert [id_ for batch in batches for id_ in batch.ids] == whole.ids
    assert np.array_equal(np.concatenate([batch.scores for batch in batches]), whole.scores)


def test_evaluation_in_several_processes(place, monkeypatch):
    """One after the other here: how processes are started is tested above."""
    draw = np.random.default_rng(3)
    pictures = draw.integers(0, 256, (COUNT, SIZE, SIZE, 3), dtype=np.uint8)
    data = with_boxes(dataset(pictures, draw.choice(np.array([-1, 0, 1], np.int8), (COUNT, 3))))
    options = {"batch_size": 4, "intervals": True, "pointing": True}
    expected = model_of(place).evaluate(data, **options)
    monkeypatch.setattr(
        evaluation,
        "in_processes",
        lambda work, again, count, then: [work(again(rank), rank, count) for rank in range(count)],
    )
    for devices in (2, 9):
        found = model_of(place).evaluate(data, devices=devices, **options)
        assert found == {**expected, "calibration_error": pytest.approx(expected["calibration_error"])}
    paths = [str(file) for file in sorted((place / "some-broken").iterdir())]
    files = dataset(pictures, data.labels.to_signed(), paths=paths)
    broken = {"batch_size": 4, "broken": "skip", "workers": 0}
    one, two = (model_of(place).evaluate(files, devices=devices, **broken) for devices in (1, 2))
    assert one["images"] == two["images"] == COUNT - 3 and one["mAP"] == two["mAP"]


def test_scores_of_known_labels_are_all_that_is_kept(place):
    """Memory follows what is known: a thousand times more unknown labels change nothing."""
    head = random_classifier()
    head.head.linear = torch.nn.Linear(head.head.linear.in_features, 3000)
    model = Model(head, [f"class {number}" for number in range(3000)], CPU)
    signs = np.zeros((COUNT, 3000), np.int8)
    signs[:, 7] = np.where(np.arange(COUNT) % 2, 1, -1)
    pictures = np.random.default_rng(0).integers(0, 256, (COUNT, SIZE, SIZE, 3), dtype=np.uint8)
    data = dataset(pictures, signs, model.classes)
    work = evaluation.Evaluating(
        data, np.arange(COUNT), np.arange(3000), np.arange(3000), 0.5, True, False, False, serving.Options(4, 0, "stop")
    )
    (segment,) = work.score(model).evaluation.known.all_segments()
    assert len(segment.scores) == COUNT and segment.scores.dtype == np.float32


def test_names_that_are_no_text_are_spelled_out_in_parquet(tmp_path):
    from trilabel.inference.predictions import Predictions

    found = Predictions(["caf\udce9.png", "ä.png"], ["image", "x"], np.ones((2, 2), np.float32))
    found.to_parquet(tmp_path / "a.parquet")
    table = pd.read_parquet(tmp_path / "a.parquet")
    assert list(table.columns) == ["image_", "image", "x"] and table["image_"].tolist() == ["caf\\xe9.png", "ä.png"]
    found.to_csv(tmp_path / "a.csv")
    assert b"caf\xe9.png,1,1" in (tmp_path / "a.csv").read_bytes()


def test_large_parquet_files_have_few_row_groups(tmp_path, monkeypatch):
    """Thousands of small ones would take more memory than the scores."""
    import pyarrow.parquet as pq

    from trilabel.inference import prediction_files
    from trilabel.inference.predictions import Predictions

    monkeypatch.setattr(prediction_files, "_NUMBERS_AT_ONCE", 100)
    with prediction_files.parquet_table(tmp_path / "a.parquet", CLASSES, Layout()) as add:
        for number in range(40):
            add(Predictions([str(number)], CLASSES, np.full((1, 3), number, np.float32)))
    file = pq.ParquetFile(tmp_path / "a.parquet")
    assert file.num_row_groups == 2 and file.read().column("dog").to_pylist() == list(range(40))
