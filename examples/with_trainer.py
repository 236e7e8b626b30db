"""A loss and metrics in the Trainer of Hugging Face (pip install transformers accelerate)."""

import tempfile

import torch
from transformers import EvalPrediction, Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

import trilabel as tl


def loss(outputs: dict, labels: torch.Tensor, num_items_in_batch: object = None) -> torch.Tensor:
    """Of partly unknown labels; any of tl.losses will do."""
    return tl.losses.weak_assume_negative(outputs["logits"], labels)


def metrics(found: EvalPrediction) -> dict[str, float]:
    """Over known labels alone."""
    scores = tl.metrics.evaluate(found.predictions, found.label_ids, threshold=0.0)  # of logits
    return {name: scores[name] for name in ("mAP", "CF1", "OF1")}


def main(images: int = 2000, epochs: int = 10, **arguments: object) -> float:
    """Trains on one positive per image; the mAP on images whose labels are all known."""
    data = tl.data.scenes(train=images, val=images // 4, test=1, size=32)
    rows = {split: data.rows_of(split) for split in ("train", "val")}
    labels = {"train": tl.simulate.single_positive(data.labels[rows["train"]], seed=0), "val": data.labels[rows["val"]]}

    def records(split: str) -> list[dict]:
        pixels, signs = data.images[rows[split]] / 127.5 - 1, torch.from_numpy(labels[split].to_signed())
        return [{"pixel_values": image, "labels": row} for image, row in zip(pixels, signs, strict=True)]

    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    config = ViTConfig(image_size=32, patch_size=4, num_labels=len(data.classes), **small)
    with tempfile.TemporaryDirectory() as folder:
        loop = Trainer(
            ViTForImageClassification(config),
            TrainingArguments(
                folder,
                num_train_epochs=epochs,
                per_device_train_batch_size=32,
                learning_rate=1e-3,
                save_strategy="no",
                report_to="none",
                **arguments,
            ),
            train_dataset=records("train"),
            eval_dataset=records("val"),
            compute_loss_func=loss,
            compute_metrics=metrics,
        )
        loop.train()
        return float(loop.evaluate()["eval_mAP"])


if __name__ == "__main__":
    print(f"mAP {100 * main():.1f} %")
