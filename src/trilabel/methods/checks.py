"""Checks whether a method can learn from given labels, with errors that suggest what to do."""

from trilabel.errors import TrilabelError
from trilabel.labels import Labels


def require_positives(method: str, labels: Labels) -> None:
    """Raises where no label is known to be present."""
    if not labels.counts_per_class()[0].any():
        raise TrilabelError(
            f"{method}: no label here is known to be present, so there is nothing to learn; label some positives"
        )


def require_both(method: str, labels: Labels, instead: str = "a method for such labels, e.g. assume-negative") -> None:
    """Raises where a method that learns from known labels alone has positives only."""
    require_positives(method, labels)
    if not labels.counts_per_class()[1].any():
        raise TrilabelError(
            f"{method} learns from known labels alone, and no label here is known to be absent: it would predict every "
            f"class in every image. Use {instead}"
        )


def one_sided(labels: Labels) -> tuple[int, int]:
    """(classes with known positives and no known negatives, classes with known positives)."""
    positives, negatives = labels.counts_per_class()
    return int(((positives > 0) & (negatives == 0)).sum()), int((positives > 0).sum())


def note_one_sided(method: str, labels: Labels) -> tuple[str, ...]:
    """Notes on the classes that a method which learns from known labels alone cannot learn."""
    without, classes = one_sided(labels)
    if not without:
        return ()
    return (
        f"{method}: {without} of {classes} classes have no known negatives and will be predicted in every image; "
        "label some, or use a method for positives alone, such as assume-negative",
    )
