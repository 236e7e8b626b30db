"""Writes src/trilabel/models/fingerprints.csv: what tells the networks of timm from each other in a file of weights.

Run it after an update of timm: python benchmarks/write_fingerprints.py (three minutes on one core)
"""

import csv
import logging
from collections.abc import Iterable

import timm
import torch

from trilabel.models.fingerprints import COLUMNS, TABLE, Fingerprint, fingerprint


def fingerprints_of(names: Iterable[str]) -> list[Fingerprint]:
    """Makes each network without memory for its weights."""
    found = []
    for name in names:
        with torch.device("meta"):
            network = timm.create_model(name)
        layers = network.pretrained_cfg.get("classifier") or ()
        classifier = (layers,) if isinstance(layers, str) else tuple(layers)
        found.append(fingerprint(name, {k: tuple(v.shape) for k, v in network.state_dict().items()}, classifier))
    return found


def main() -> None:
    """Replaces the table."""
    logging.disable(logging.WARNING)  # timm warns of networks that have other names now
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in fingerprints_of(timm.list_models()):
            writer.writerow([row.backbone, " ".join(row.classifier), row.tensors, row.parameters, row.digest])


if __name__ == "__main__":
    main()
