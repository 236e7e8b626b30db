"""A method, hidden labels and scores in a loop of plain PyTorch."""

import torch
from torch import nn
from torch.utils.data import DataLoader

import trilabel as tl
from trilabel.methods import Batch, create_method
from trilabel.models import Output


class Network(nn.Module):
    """Any network of yours: methods ask it for an Output, with logits B×C and features B×D."""

    def __init__(self, classes: int, features: int = 64) -> None:
        super().__init__()
        layers = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, features, 3, 2, 1), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.head = nn.Linear(features, classes)

    def forward(self, images: torch.Tensor) -> Output:
        features = self.body(images)
        return Output(self.head(features), features)


def main(images: int = 2000, epochs: int = 10, lr: float = 5e-3) -> float:
    """Trains on one positive per image; the mAP on images whose labels are all known."""
    torch.manual_seed(0)
    data = tl.data.scenes(train=images, val=images // 4, test=1, size=32)
    pixels = data.images / 127.5 - 1
    train, val = torch.tensor(data.rows_of("train")), torch.tensor(data.rows_of("val"))
    labels = tl.simulate.single_positive(data.labels[train.numpy()], seed=0)

    model = Network(len(data.classes))
    method = create_method("role", {}, labels, features=64)  # its estimates of unknown labels are parameters
    own = [{"params": group, "lr": times * lr} for group, times in method.parameter_groups(lr)]
    optimizer = torch.optim.Adam([{"params": model.parameters()}, *own], lr)
    for epoch in range(1, epochs + 1):
        method.start_epoch(epoch)
        for rows in DataLoader(torch.arange(len(train)), batch_size=32, shuffle=True):  # rows of `labels`
            batch = Batch(pixels[train[rows]], None, labels.rows(rows.numpy()), rows, epoch, lr)
            loss = method.step(model, batch)["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        scores = model.eval()(pixels[val]).logits
    return tl.metrics.mean_average_precision(scores, data.labels[val.numpy()])


if __name__ == "__main__":
    print(f"mAP {100 * main():.1f} %")
