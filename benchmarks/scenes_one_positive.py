"""Methods for positives on the embedded scenes, one positive an image: mean ± deviation over seeds.

    python benchmarks/scenes_one_positive.py --out runs/scenes --jobs 12

8,000 training scenes (--train), the recipe `small` with 24 epochs (--epochs), the epoch chosen on 500 fully labelled
scenes, scored on 1,000 more. Scenes, hidden labels and training follow the seed. "+ LinearInit" starts from the
backbone of a 12-epoch assume-negative run: ten epochs of the head alone, then all. Writes the runs and results.json
under --out. On a GPU about half an hour with one job, a fraction of it with several; on two cores several hours.
"""

from typing import Any

from scenes_grid import SceneRow, SceneTable, main

HIDE = "single-positive"
START = "AN, 12 epochs"
INIT = {"stages": "linear-then-fine-tune", "linear_epochs": 10, "linear_lr": 4e-3}
AN: dict[str, Any] = {"method": "assume-negative"}
ALL: dict[str, Any] = {"method": "known-only", "settings": {"normalize": "all"}}
LL_R = {"method": "large-loss", "settings": {"mode": "reject", "delta": 0.5}}
LL_CT = {"method": "large-loss", "settings": {"mode": "correct", "delta": 0.3}}
LL_CP = {"method": "large-loss", "settings": {"mode": "correct-for-good", "delta": 0.1}}


def from_linear(changes: dict[str, Any]) -> SceneRow:
    return SceneRow(changes | INIT, HIDE, (START,))


ROWS = {
    START: SceneRow(AN | {"epochs": 12}, HIDE),
    "all labels": SceneRow(ALL, None),
    "IUN (oracle)": SceneRow(ALL, "single-positive=1,CLASSES"),
    "AN": SceneRow(AN, HIDE),
    "AN-LS": SceneRow(AN | {"settings": {"smoothing": 0.1}}, HIDE),
    "WAN": SceneRow(AN | {"settings": {"weight": None}}, HIDE),
    "EPR": SceneRow({"method": "expected-positive"}, HIDE),
    "ROLE": SceneRow({"method": "role"}, HIDE),
    "LL-R": SceneRow(LL_R, HIDE),
    "LL-Ct": SceneRow(LL_CT, HIDE),
    "LL-Cp": SceneRow(LL_CP, HIDE),
    "ASL": SceneRow({"method": "asymmetric"}, HIDE),
    "Hill": SceneRow({"method": "hill"}, HIDE),
    "SPLC": SceneRow({"method": "splc"}, HIDE),
    "CSL": SceneRow({"method": "selective", "settings": {"top_k": 1}}, HIDE),
    "AN + LinearInit": from_linear(AN),
    "ROLE + LinearInit": from_linear({"method": "role"}),
    "LL-R + LinearInit": from_linear(LL_R),
    "LL-Ct + LinearInit": from_linear(LL_CT),
}

if __name__ == "__main__":
    main(SceneTable(__doc__ or "", "runs/scenes-one-positive", ROWS, train=8000, epochs=24, hide_seed=1200))
