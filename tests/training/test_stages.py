"""The stages of a run."""

from dataclasses import replace

from trilabel.config import Config
from trilabel.training.stages import Stage, plan_stages


def test_stages():
    options = {"epochs": 7, "linear_epochs": 4, "lr": 0.5, "head_lr_scale": 10}
    linear, fine_tune = Stage("linear", 4, 5.0, linear=True), Stage("fine-tune", 7, 0.5)
    assert plan_stages(Config(stages="fine-tune", **options)) == [fine_tune]
    assert plan_stages(Config(stages="linear", **options)) == [Stage("linear", 7, 5.0, linear=True)]
    then = replace(fine_tune, goes_on=True)
    assert plan_stages(Config(stages="linear-then-fine-tune", **options)) == [linear, then]
    assert plan_stages(Config(stages="linear", linear_lr=0.1, **options)) == [Stage("linear", 7, 0.1, linear=True)]
