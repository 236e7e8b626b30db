"""Which unknown labels are easy, one by one (Durand 2019, section 3.3), and how right they are."""

from tests.oracles.losses import Matrix


def easy(strategy: str, threshold: float | None, passes: list[Matrix], labels: Matrix) -> list[list[int]]:
    """passes[s][i][c] are logits; gives +1/−1 where an unknown label is easy, else 0."""
    images, classes = len(labels), len(labels[0])
    weak = [[0] * classes for _ in range(images)]
    mean = [[sum(one[i][c] for one in passes) / len(passes) for c in range(classes)] for i in range(images)]
    unknown = [(i, c) for i in range(images) for c in range(classes) if labels[i][c] == 0]
    ranked = sorted(unknown, key=lambda place: -abs(mean[place[0]][place[1]]))  # sorted keeps the order of equal ones
    first = set(ranked[: round((threshold or 0) * len(unknown))])
    for i, c in unknown:
        score = mean[i][c]
        variance = sum((one[i][c] - score) ** 2 for one in passes) / len(passes)
        is_easy = {
            "score": score >= (threshold or 0) or -score >= (threshold or 0),
            "ensemble": score >= (threshold or 0) or -score >= (threshold or 0),
            "proportion": (i, c) in first,
            "positive": score >= (threshold or 0),
            "uncertainty": variance <= (threshold or 0),
            "all": True,
        }[strategy]
        if is_easy and score != 0:
            weak[i][c] = 1 if score > 0 else -1
    return weak


def rates(weak: Matrix, truth: Matrix) -> tuple[float | None, ...]:
    """(right of weak positives, of weak negatives, true-positive rate, true-negative rate) where truth is known."""
    pairs = [(w, t) for ws, ts in zip(weak, truth, strict=True) for w, t in zip(ws, ts, strict=True) if w and t]
    groups = (
        [t > 0 for w, t in pairs if w > 0],
        [t < 0 for w, t in pairs if w < 0],
        [w > 0 for w, t in pairs if t > 0],
        [w < 0 for w, t in pairs if t < 0],
    )
    return tuple(sum(right) / len(right) if right else None for right in groups)
