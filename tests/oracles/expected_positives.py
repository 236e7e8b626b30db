"""Positives per image, counted one label at a time, and their mean drawn again one image at a time."""

import random


def counts_of_full(dense: list[list[int]]) -> list[int]:
    """How many positives each image has of which every label is known."""
    return [sum(label == 1 for label in row) for row in dense if row and all(label != 0 for label in row)]


def interval(counts: list[int], draws: int = 2_000) -> tuple[float, float]:
    """5th and 95th percentile of the mean of images drawn with replacement, wider for few images as Student's is."""
    generator = random.Random(3)
    means = sorted(sum(generator.choice(counts) for _ in counts) / len(counts) for _ in range(draws))
    mean = sum(counts) / len(counts)
    student = {5: 2.132, 25: 1.711, 400: 1.649}[len(counts)]  # 95th percentile, as printed in tables
    wider = student / 1.645 * (len(counts) / (len(counts) - 1)) ** 0.5
    low, high = means[int(0.05 * draws)], means[int(0.95 * draws) - 1]
    return mean - wider * (mean - low), mean + wider * (high - mean)
