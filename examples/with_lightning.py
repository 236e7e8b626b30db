"""A method and a metric in a LightningModule (pip install pytorch-lightning)."""

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

import trilabel as tl
from trilabel.methods import Batch, create_method
from trilabel.metrics.torchmetrics import MeanAveragePrecision
from trilabel.models import create_model


class PartlyLabeled(pl.LightningModule):
    """A method is a module: what it remembers moves to the device and into checkpoints with the rest."""

    def __init__(self, labels: tl.Labels, lr: float) -> None:
        super().__init__()
        self.model = create_model(tl.Config(backbone="tiny"), labels.shape[1], image_size=32)
        self.method = create_method("large-loss", {}, labels)
        self.val_map = MeanAveragePrecision(labels.shape[1])
        self.lr = lr

    def on_train_epoch_start(self) -> None:
        self.method.start_epoch(self.current_epoch + 1)  # epochs count from 1

    def training_step(self, batch: list[Tensor], _: int) -> Tensor:
        images, labels, rows = batch
        return self.method.step(self.model, Batch(images, None, labels, rows, self.current_epoch + 1, self.lr))["loss"]

    def validation_step(self, batch: list[Tensor], _: int) -> None:
        images, labels, rows = batch
        self.val_map.update(self.model(images).logits, labels, rows)  # each row counts once, whatever samplers repeat
        self.log("val_map", self.val_map)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), self.lr)


def main(images: int = 2000, epochs: int = 10, **trainer: object) -> float:
    """Trains on a tenth of the labels; the mAP on images whose labels are all known."""
    pl.seed_everything(0)
    data = tl.data.scenes(train=images, val=images // 4, test=1, size=32)
    rows = {split: data.rows_of(split) for split in ("train", "val")}
    labels = {"train": tl.simulate.keep_share(data.labels[rows["train"]], 0.1, seed=0), "val": data.labels[rows["val"]]}

    def loader(split: str) -> DataLoader:
        signs = torch.from_numpy(labels[split].to_signed())
        dataset = TensorDataset(data.images[rows[split]] / 127.5 - 1, signs, torch.arange(len(signs)))
        return DataLoader(dataset, batch_size=32, shuffle=split == "train")

    loop = pl.Trainer(max_epochs=epochs, **{"logger": False, "enable_checkpointing": False, **trainer})
    loop.fit(PartlyLabeled(labels["train"], lr=3e-3), loader("train"), loader("val"))
    return float(loop.callback_metrics["val_map"])


if __name__ == "__main__":
    print(f"mAP {100 * main():.1f} %")
