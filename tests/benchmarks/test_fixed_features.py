"""The script behind the tables on fixed features, in a process of its own because it replaces parts of training."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.stopped import forked_script

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fixed_features.py"
SPEC = """
labels = ["single-positive"]

[train]
stages = "linear"
epochs = 15
lr = 0.01

[rows.AN]
recipe = "cole2021-an-linear"

[rows.posterior]
method = "posterior"
"""


def test_methods_learn_on_features_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(120, 8)).astype(np.float32)
    labels = (features[:, :3] > 0).astype(np.int8)
    labels[~labels.any(1), 0] = 1
    np.savez(tmp_path / "toy.npz", X_train=features[:80], Y_train=labels[:80], X_test=features[80:], Y_test=labels[80:])
    (tmp_path / "toy.toml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    script = f"import runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    done = forked_script(script, ["toy.npz", "none", "toy.toml", "--out", "out"])
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "out" / "toy" / "table.md").read_text()
    scores = {name: float(cell.strip(" *")) for name, cell in (row.split("|")[1:3] for row in table.splitlines()[4:6])}
    assert set(map(str.strip, scores)) == {"AN", "posterior"} and min(scores.values()) > 70
