"""What evaluate says before its scores are believed."""

from collections.abc import Sequence

from trilabel.config import Config
from trilabel.inference.trust import unfinished
from trilabel.training.record import EpochRecord


def test_a_run_that_has_epochs_before_it_says_so() -> None:
    def records(*epochs: int, stage: str = "fine-tune") -> Sequence[EpochRecord]:
        return [EpochRecord(stage, epoch, 0.5) for epoch in epochs]

    three, one = records(1, 2, 3), records(1)[0]
    assert unfinished(Config(epochs=3), three, one) == [] == unfinished(Config(epochs=9), [], None)
    assert unfinished(Config(epochs=4), three, one) == [
        "this run is unfinished: 3 of 4 epochs are done; the scores are of its best epoch so far"
    ]
    assert unfinished(Config(epochs=9, patience=2), three, one) == [], "two epochs without improvement"
    assert unfinished(Config(epochs=9, patience=2), three, three[1])
    two_stages = Config(stages="linear-then-fine-tune", epochs=3, linear_epochs=2)
    assert "0 of 3" in unfinished(two_stages, records(1, 2, stage="linear"), one)[0]
    assert unfinished(two_stages, [*records(1, 2, stage="linear"), *three], three[0]) == []
