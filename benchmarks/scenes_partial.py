"""Methods for presents and absents on the embedded scenes, 10 % of labels known: mean ± deviation over seeds.

    python benchmarks/scenes_partial.py --out runs/scenes --jobs 12

2,000 training scenes (--train), the recipe `small` with 12 epochs (--epochs), the epoch chosen on 500 fully labelled
scenes, scored on 1,000 more. Scenes, hidden labels and training follow the seed. Relabelling is before epochs 6 and 9
of 12. Writes the runs and results.json under --out.
"""

from typing import Any

from scenes_grid import Cell, Grid, main

HIDE = "keep-share=0.1"
GNN = {"graph": "gnn"}
BATCH = {"normalise": "batch"}


def known(normalise: str = "share", **more: Any) -> dict[str, Any]:
    return {"method": "known-only", "settings": {"normalise": normalise}, **more}


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
    "partial-BCE + 2 steps": known(relabel="all", relabel_settings={"epochs": [6]}),
    "partial-BCE, WELDON + GNN + [e]": known(head="weldon", relabel="uncertainty", **GNN),
    "BN-BCE + PL": training_itself(**BATCH, pseudo="same-view"),
    "CR without SR": training_itself(**BATCH),
    "CR, SR in pseudo-labels only": training_itself(**BATCH, labelled_by="saliency"),
    "BN-BCE, both views": training_itself(**BATCH, pseudo="off"),
    "SR": known("batch", head="saliency"),
    "SR + CR without SR": training_itself("saliency", **BATCH, labelled_by="gap", learned_by="gap"),
    "SR + CR": training_itself("saliency"),
    "IMCL": {"method": "imcl"},
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
MEMBERS = {f"member {number}": Cell(known(), HIDE, training_seed=100 * number) for number in (1, 2)}
ROWS = {
    "all labels": Cell(known("all"), None),
    **{name: Cell(changes, HIDE) for name, changes in CHANGES.items()},
    **MEMBERS,
    "partial-BCE + [d] ensemble": Cell(known(relabel="ensemble"), HIDE, tuple(MEMBERS), "ensemble"),
}

if __name__ == "__main__":
    main(Grid(__doc__ or "", "runs/scenes-partial", ROWS, train=2000, epochs=12))
