"""What labels methods can learn from, and what to say where they cannot."""

from trilabel.errors import TrilabelError
from trilabel.labels import Labels


def require_positives(method: str, labels: Labels) -> None:
    """Stops where no label is known to be present."""
    if not labels.counts_per_class()[0].any():
        raise TrilabelError(
            f"{method}: no label here is known to be present, so there is nothing to learn; name classes that "
            "images do have"
        )


def require_both(method: str, labels: Labels, instead: str = "a method for such labels, e.g. assume-negative") -> None:
    """Stops where a method that learns from known labels alone has positives only."""
    require_positives(method, labels)
    if not labels.counts_per_class()[1].any():
        raise TrilabelError(
            f"{method} learns from known labels alone, and no label here is known to be absent: it would call every "
            f"class present in every image. Use {instead}"
        )


def one_sided(labels: Labels) -> tuple[int, int]:
    """(classes with a known present and no known absent, classes with a known present)."""
    present, absent = labels.counts_per_class()
    return int(((present > 0) & (absent == 0)).sum()), int((present > 0).sum())


def note_one_sided(method: str, labels: Labels) -> tuple[str, ...]:
    """What to tell people of classes that a method which learns from known labels alone cannot learn."""
    without, classes = one_sided(labels)
    if not without:
        return ()
    return (
        f"{method}: {without} of {classes} classes have no known absent and will be called present everywhere; label "
        "some negatives of them, or use a method for positives alone, such as assume-negative",
    )
