"""Methods for positives and negatives on the embedded scenes, 10 % of labels known: mean ± deviation over seeds.

    python benchmarks/scenes_partial.py --out runs/scenes --jobs 12

8,000 training scenes (--train), the recipe `small` with 24 epochs (--epochs), the epoch chosen on 500 fully labelled
scenes, scored on 1,000 more. Scenes, hidden labels and training follow the seed. Relabelling is half-way and at three
quarters. "Refined" rows start from a 12-epoch BCE run, head and all, and go on for 12 epochs at a quarter of the rate,
since IMCL starts from a trained model. Writes the runs and results.json under --out.
"""

from typing import Any

from scenes_grid import SceneRow, SceneTable, main

HIDE = "keep-share=0.1"
GNN = {"graph": "gnn"}
BATCH = {"normalize": "batch"}


def known(normalize: str = "share", **more: Any) -> dict[str, Any]:
    return {"method": "known-only", "settings": {"normalize": normalize}, **more}


def training_itself(head: str = "gap", **settings: Any) -> dict[str, Any]:
    return {"method": "self-training", "head": head, "settings": settings}


CHANGES: dict[str, dict[str, Any]] = {
    "BCE": known("all"),
    "BN-BCE": known("batch"),
    "partial-BCE": known(),
    "partial-BCE, WELDON": known(head="weldon"),
    "partial-BCE + GNN": known(**GNN),
    "partial-BCE, WELDON + GNN": known(head="weldon", **GNN),
    "partial-BCE + [a] score": known(relabel="score"),
    "partial-BCE + [b] proportion": known(relabel="proportion"),
    "partial-BCE + [c] positive": known(relabel="positive"),
    "partial-BCE + [e] uncertainty": known(relabel="uncertainty"),
    "partial-BCE + 2 steps": known(relabel="all", relabel_settings={"epochs": [12]}),
    "partial-BCE, WELDON + GNN + [e]": known(head="weldon", relabel="uncertainty", **GNN),
    "BN-BCE + PL": training_itself(**BATCH, pseudo="same-view"),
    "CR without SR": training_itself(**BATCH),
    "CR, SR in pseudo-labels only": training_itself(**BATCH, labelled_by="saliency"),
    "BN-BCE, both views": training_itself(**BATCH, pseudo="off"),
    "SR": known("batch", head="saliency"),
    "SR + CR without SR": training_itself("saliency", **BATCH, labelled_by="gap", learned_by="gap"),
    "SR, both views": training_itself("saliency", pseudo="off"),
    "SR + CR": training_itself("saliency"),
    "SR + CR, a part erased": training_itself("saliency") | {"erase": 0.33},
    "BN-BCE, GCN head": known("batch", head="gcn"),
    "latent noise (visual)": {"method": "latent-noise", "head": "latent-noise"},
    "latent noise (relevance)": {
        "method": "latent-noise",
        "head": "latent-noise",
        "head_settings": {"score": "relevance"},
    },
    "WSABIE": {"method": "ranking", "settings": {"loss": "warp", "unknown": "ignore"}, "head": "embedding"},
    "Fast0Tag": {
        "method": "ranking",
        "settings": {"loss": "ranknet", "unknown": "ignore"},
        "head": "embedding",
        "head_settings": {"layers": 2},
    },
    "LSEP": {"method": "ranking", "settings": {"loss": "lsep", "unknown": "ignore"}},
    "CNN-RNN": {"method": "label-rnn", "head": "label-rnn"},
    "ASL": {"method": "asymmetric", "settings": {"unknown": "ignore"}},
    "focal": {"method": "focal", "settings": {"unknown": "ignore"}},
    "SPLC": {"method": "splc"},
    "CSL": {"method": "selective", "settings": {"top_k": 1}},
    "AN": {"method": "assume-negative"},
}
START = "BCE, 12 epochs"
REFINED: dict[str, dict[str, Any]] = {
    "BCE, refined": known("all"),
    "IMCL as published, refined": {"method": "imcl"},
    "IMCL, weights ÷ 20, memory, refined": {
        "method": "imcl",
        "settings": {"label_weight": 0.05, "feature_weight": 0.025, "memory": 1024},
    },
}
MEMBERS = {f"member {number}": SceneRow(known(), HIDE, training_seed=100 * number) for number in (1, 2)}
ROWS = {
    "all labels": SceneRow(known("all"), None),
    **{name: SceneRow(changes, HIDE) for name, changes in CHANGES.items()},
    START: SceneRow(known("all", epochs=12), HIDE),
    **{
        name: SceneRow({"epochs": 12, "lr": 1e-3, "keep_head": True, **changes}, HIDE, (START,))
        for name, changes in REFINED.items()
    },
    **MEMBERS,
    "partial-BCE + [d] ensemble": SceneRow(known(relabel="ensemble"), HIDE, tuple(MEMBERS), "ensemble"),
}

if __name__ == "__main__":
    main(SceneTable(__doc__ or "", "runs/scenes-partial", ROWS, train=8000, epochs=24))
