"""How long a run will still take, as it shows itself after the first seconds."""

from trilabel.log import log
from trilabel.training.setup import Job
from trilabel.training.stage_setup import StageRun

_ENOUGH_TO_TELL = 5.0  # seconds of an epoch; the first steps are slower
_WORTH_TELLING = 60.0  # seconds that are left
_LONG = 2 * 3600.0  # seconds from which a cheaper way is named


def time_left(job: Job, run: StageRun, steps: int) -> str:
    """What is left of the run after a step of an epoch of so many, for people; nothing where it is short or unknown.

    Stages that follow are not known to take any time.
    """
    now, stage = job.state.progress, run.stage
    if now.seconds < _ENOUGH_TO_TELL or not now.step:
        return ""
    to_do = (stage.epochs - now.epoch) * steps + steps - now.step
    seconds = now.seconds / now.step * to_do
    if now.best is not None:
        seconds += (stage.epochs - now.epoch + 1) * now.best.val_seconds
    if seconds < _WORTH_TELLING:
        return ""
    if seconds > _LONG and not job.told_long:
        job.told_long = True
        faster = "" if stage.linear else "a head on features computed once (--stages linear), "
        log.info(
            f"about {describe_seconds(seconds)} left; faster: {faster}a smaller --image-size or backbone, or fewer "
            "images first (--hide images=0.1)"
        )
    more = " and further stages" if now.stage + 1 < len(job.stages) else ""
    return f"{describe_seconds(seconds)}{more} left"


def describe_seconds(seconds: float) -> str:
    """A duration for people.

    >>> describe_seconds(40), describe_seconds(130), describe_seconds(9000)
    ('a minute', '2 minutes', '2.5 hours')
    """
    if seconds < 90:
        return "a minute"
    return f"{seconds / 60:.0f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"
