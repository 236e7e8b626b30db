"""Every image is scored exactly once, by however many processes; one that cannot be read has no score."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from trilabel.data.images import ImageSource
from trilabel.errors import TrilabelError
from trilabel.models import Output
from trilabel.models.scoring import ProcessGroup, Scorer
from trilabel.testing.threads import as_gathering_processes

CPU = torch.device("cpu")


class Brightness(nn.Module):
    """Two logits per image: its mean m and −m; counts what it is given."""

    def __init__(self):
        super().__init__()
        self.scored = []

    def forward(self, images, maps=False):
        mean = images.flatten(1).mean(1, keepdim=True)
        self.scored += mean[:, 0].tolist()
        return Output(torch.hstack((mean, -mean)), mean, images[:, :1] if maps else None)


def images_of(count):
    """Image i has i everywhere."""
    return ImageSource(torch.arange(count, dtype=torch.uint8)[:, None, None, None].expand(-1, 3, 4, 4), 4, CPU, 0)


@pytest.mark.parametrize("count", [0, 1, 5, 8, 11])
def test_processes_score_every_image_once_and_all_have_all_scores(count):
    expected = torch.arange(count, dtype=torch.float32)[:, None] * torch.tensor([1.0, -1.0])
    for world in (1, 2, 3):
        models = [Brightness() for _ in range(world)]

        def work(rank, all_gather, models=models, world=world):
            scorer = Scorer(models[rank], torch.Tensor.float, 2, 2, processes=ProcessGroup(rank, world, all_gather))
            return scorer.score(images_of(count))

        for scores in as_gathering_processes(world, work):
            assert torch.equal(scores.logits, expected) and scores.errors == []
            assert not len(scores.failed) and not len(scores.nan())
        assert sorted(mean for model in models for mean in model.scored) == list(range(count))


def test_outputs_come_batch_by_batch_with_maps_where_they_are_asked_for():
    for class_maps in (False, True):
        batches = []
        scorer = Scorer(Brightness(), torch.Tensor.float, 2, batch_size=3)
        scorer.score(images_of(7), class_maps=class_maps, on_batch=lambda *batch, to=batches: to.append(batch))
        assert [positions.tolist() for positions, _ in batches] == [[0, 1, 2], [3, 4, 5], [6]]
        for positions, output in batches:
            assert output.features[:, 0].tolist() == positions.tolist()
            assert (output.maps is not None) == class_maps and not output.logits.requires_grad


def test_the_model_is_left_as_it_was():
    model, modes = Brightness(), []
    for training in (True, False):
        model.train(training)
        Scorer(model, torch.Tensor.float, 2, 4).score(images_of(3), on_batch=lambda *_: modes.append(model.training))
        assert model.training == training
    assert modes == [False, False]


def test_a_broken_file_has_nan_for_scores_or_stops(tmp_path):
    paths = [str(tmp_path / f"{number}.png") for number in range(5)]
    for number, path in enumerate(paths):
        Image.fromarray(np.full((4, 4, 3), number, np.uint8)).save(path)
    (tmp_path / "2.png").write_text("no image")
    for batch_size in (1, 2, 8):
        scorer = Scorer(Brightness(), torch.Tensor.float, 2, batch_size, skip_broken=True)
        logits, failed, [(position, message)] = scorer.score(ImageSource(paths, 4, CPU, 0))
        assert position == 2 and failed.tolist() == [2] and "2.png: broken image" in message
        assert logits[2].isnan().all() and logits[[0, 1, 3, 4], 0].tolist() == [0, 1, 3, 4]
    with pytest.raises(TrilabelError, match=r"2\.png: broken image"):
        Scorer(Brightness(), torch.Tensor.float, 2, 2).score(ImageSource(paths, 4, CPU, 0))


class NanForDark(Brightness):
    """NaN for image 1, infinite for image 4."""

    def forward(self, images, maps=False):
        output = super().forward(images, maps)
        logits = output.logits.clone()
        logits[output.features[:, 0] == 1, 1] = torch.nan
        logits[output.features[:, 0] == 4, 0] = torch.inf
        return output._replace(logits=logits)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_every_process_knows_which_images_failed_and_for_which_the_model_gives_nan(tmp_path, world):
    paths = [str(tmp_path / f"{number}.png") for number in range(7)]
    for number, path in enumerate(paths):
        Image.fromarray(np.full((4, 4, 3), number, np.uint8)).save(path)
    for broken in (2, 5):
        (tmp_path / f"{broken}.png").write_text("no image")

    def work(rank, all_gather):
        group = ProcessGroup(rank, world, all_gather)
        scorer = Scorer(NanForDark(), torch.Tensor.float, 2, 1, skip_broken=True, processes=group)
        return scorer.score(ImageSource(paths, 4, CPU, 0))

    scores = as_gathering_processes(world, work)
    for one in scores:
        assert one.failed.tolist() == [2, 5] and one.nan().tolist() == [1]
        assert one.logits[4].tolist() == [torch.inf, -4]
    assert sorted(position for one in scores for position, _ in one.errors) == [2, 5]
