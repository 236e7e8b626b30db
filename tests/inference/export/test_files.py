"""Exported files and folders give what the run gives, hold nothing else, and strangers' ones are refused."""

import json
import zipfile

import numpy as np
import pytest
import torch
from safetensors import safe_open

import trilabel as tl
from tests.inference.export.conftest import SECRET
from tests.support.models_by_hand import CLASSES, dataset
from trilabel.data.decode import decode
from trilabel.errors import TrilabelError
from trilabel.inference.export import api, onnx_file
from trilabel.inference.export.model_folder import without_paths

onnx = pytest.importorskip("onnx", reason="needs the extra [onnx]")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra [onnx]")


def loaded(exported, kind):
    return tl.load(getattr(exported, kind), trust=[exported.pt2])


@pytest.mark.parametrize("kind", ["onnx", "pt2", "folder"])
def test_predictions_and_scores_are_those_of_the_run(exported, kind):
    run, model = tl.load(exported.run), loaded(exported, kind)
    wanted, found = run.predict(exported.photos, workers=0), model.predict(exported.photos, workers=0)
    assert found.ids == wanted.ids and len(found.ids) == 6 and list(found.classes) == CLASSES
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-6)
    assert wanted.scores.std(0).min() > 0.01
    assert found.thresholds == wanted.thresholds == (0.4, 0.5, 0.6)
    assert model.image_size == 16 and str(getattr(exported, kind)) in repr(model)
    pictures = np.random.default_rng(0).integers(0, 256, (9, 20, 20, 3), dtype=np.uint8)
    data = dataset(pictures, np.random.default_rng(1).choice(np.array([-1, 1], np.int8), (9, 3)))
    for options in ({}, {"calibrated": False, "threshold": 0.5}):
        of_run, of_model = run.evaluate(data, **options), model.evaluate(data, **options)
        assert of_model["mAP"] == of_run["mAP"] and of_model["CF1"] == of_run["CF1"]
        assert of_model["calibration_error"] == pytest.approx(of_run["calibration_error"], abs=1e-6)


def test_onnx_gives_decisions_for_any_number_of_images(exported):
    session = onnxruntime.InferenceSession(str(exported.onnx), providers=["CPUExecutionProvider"])
    (images,) = session.get_inputs()
    assert (images.name, images.shape, images.type) == ("images", ["batch", 16, 16, 3], "tensor(uint8)")
    assert [output.name for output in session.get_outputs()] == ["probabilities", "present", "logits"]
    assert json.loads(session.get_modelmeta().custom_metadata_map["classes"]) == CLASSES
    files = sorted(exported.photos.iterdir())
    wanted = tl.load(exported.run).predict(files, workers=0)
    pixels = np.stack([decode(file, 16).permute(1, 2, 0).numpy() for file in files])
    for count in (1, 2, 6):
        probabilities, present, _ = session.run(None, {"images": pixels[:count]})
        np.testing.assert_allclose(probabilities, wanted.scores[:count], atol=1e-6)
        assert present.tolist() == [
            [name in record["present"] for name in CLASSES] for record in wanted.to_records()[:count]
        ]
    onnx.checker.check_model(str(exported.onnx), full_check=True)


def test_nothing_of_the_training_leaks(exported):
    """Neither names of images, nor folders of this machine, nor what the method remembers."""
    unpacked = [zipfile.ZipFile(exported.pt2).read(name) for name in zipfile.ZipFile(exported.pt2).namelist()]
    contents = [exported.onnx.read_bytes(), *unpacked, *(file.read_bytes() for file in exported.folder.iterdir())]
    for content in contents:
        assert SECRET.encode() not in content and str(exported.root.parent).encode() not in content
        assert api.__file__.split("trilabel")[0].encode() not in content, "where the code is"
    assert sorted(file.name for file in exported.folder.iterdir()) == [
        "README.md",
        "config.json",
        "decisions.json",
        "model.safetensors",
    ]
    with safe_open(exported.folder / "model.safetensors", "pt") as file:
        assert all(name.startswith(("model.backbone.", "model.head.")) for name in file.keys())  # noqa: SIM118
    config = json.loads((exported.folder / "config.json").read_text())
    assert config["source"] == {} and config["config"]["weights"] == "resnet.safetensors"
    assert config["config"]["settings"] == {"sources": "words.txt"} and config["config"]["teachers"] == ["a"]


def test_paths_become_names():
    assert without_paths(["/a/b/", "c:\\d\\e.txt", "hub", 3, None, {"x": ("y/z",)}]) == [
        "b", "e.txt", "hub", 3, None, {"x": ["z"]}
    ]  # fmt: skip


def test_a_pt2_file_is_read_only_if_it_is_trusted(exported, tmp_path):
    for trust in ((), [exported.onnx]):
        with pytest.raises(TrilabelError, match=r"can run code.*trust='model\.pt2' with its path"):
            tl.load(exported.pt2, trust=trust)
    assert tl.load(exported.pt2, trust=str(exported.pt2)).classes == CLASSES


def test_files_of_others_are_refused(exported, tmp_path):
    other = tmp_path / "other.onnx"
    foreign = onnx.load(exported.onnx)
    del foreign.metadata_props[:]
    onnx.save(foreign, other)
    with pytest.raises(TrilabelError, match="not what `trilabel export` wrote"):
        tl.load(other)
    onnx.helper.set_model_props(foreign, {"trilabel": '"1"', "classes": '["a","b","c"]', "image_size": "8"})
    onnx.helper.set_model_props(foreign, {p.key: p.value for p in foreign.metadata_props} | {"decisions": "null"})
    onnx.save(foreign, other)
    with pytest.raises(TrilabelError, match="other inputs or outputs"):
        tl.load(other)
    for suffix in (".onnx", ".pt2"):
        broken = tmp_path / f"broken{suffix}"
        broken.write_bytes(b"nothing of the kind")
        with pytest.raises(TrilabelError, match=rf"broken\{suffix}: not a.* file that"):
            tl.load(broken, trust=broken)
    with pytest.raises(TrilabelError, match="not a run folder"):
        tl.load(tmp_path / "missing.onnx")
    with pytest.raises(TrilabelError, match="this onnxruntime has no GPU"):
        onnx_file.open_onnx(exported.onnx, torch.device("cuda"), asked=True)


def test_exported_files_have_no_class_maps_and_are_not_exported_again(exported, tmp_path):
    model = tl.load(exported.onnx)
    with pytest.raises(TrilabelError, match="gives no class maps"):
        next(model.maps(exported.photos, workers=0))
    assert next(tl.load(exported.folder).maps(exported.photos, workers=0)).maps.shape == (3, 2, 2)
    with pytest.raises(TrilabelError, match="exported already"):
        tl.export(exported.onnx, tmp_path / "again.pt2")
    with pytest.raises(TrilabelError, match="this is a model folder already"):
        tl.export(exported.folder, tmp_path / "again")


def test_where_it_is_written(exported, tmp_path):
    again = tl.export(exported.folder, tmp_path / "again.pt2")
    assert again.largest_difference < 1e-6 and (again.classes, again.image_size) == (3, 16)
    with pytest.raises(TrilabelError, match="this file exists"):
        tl.export(exported.run, tmp_path / "again.pt2")
    with pytest.raises(TrilabelError, match=r"ends in \.onnx or \.pt2, or a folder"):
        tl.export(exported.run, tmp_path / "model.safetensors")
    clone = tmp_path / "clone"
    (clone / ".git").mkdir(parents=True)
    (clone / "model.safetensors").write_text("old")
    with pytest.raises(TrilabelError, match="this folder exists"):
        tl.export(exported.run, clone)
    assert tl.export(exported.run, clone, overwrite=True).bytes > 700_000
    assert (clone / ".git").is_dir() and tl.load(clone).classes == CLASSES


def test_a_file_that_gives_other_scores_is_not_kept(exported, tmp_path, monkeypatch):
    def wrong(network, about, path):
        with torch.no_grad():
            network.head.linear.bias.add_(1)
        write(network, about, path)
        with torch.no_grad():
            network.head.linear.bias.sub_(1)

    write = api._WRITERS[".pt2"]
    monkeypatch.setitem(api._WRITERS, ".pt2", wrong)
    with pytest.raises(TrilabelError, match=r"gives other scores than the run \(logits differ by up to 1\)"):
        tl.export(exported.run, tmp_path / "wrong.pt2")
    assert list(tmp_path.iterdir()) == []


def test_packages_that_are_missing_are_named(exported, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(TrilabelError, match=r"needs onnx; install it \(pip install 'trilabel\[onnx\]'\)"):
        tl.export(exported.run, tmp_path / "x.onnx")
    with pytest.raises(TrilabelError, match="needs onnxruntime"):
        tl.load(exported.onnx)
