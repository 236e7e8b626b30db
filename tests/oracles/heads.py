"""Heads cell by cell in plain Python. Maps are B × C × h × w lists, features B × D × h × w."""

Maps = list[list[list[list[float]]]]


def class_maps(features: Maps, weight: list[list[float]], bias: list[float]) -> Maps:
    return [
        [
            [
                [sum(w * image[d][y][x] for d, w in enumerate(row)) + b for x in range(len(image[0][0]))]
                for y in range(len(image[0]))
            ]
            for row, b in zip(weight, bias, strict=True)
        ]
        for image in features
    ]


def cells(one: list[list[float]]) -> list[float]:
    """Of one class map, the lowest first."""
    return sorted(value for row in one for value in row)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def weldon(maps: Maps, top: int, bottom: int) -> list[list[float]]:
    """top, bottom: numbers of cells."""
    return [[(mean(cells(one)[-top:]) + mean(cells(one)[:bottom])) / 2 for one in image] for image in maps]


def saliency(maps: Maps, alpha: float, k: int) -> list[list[float]]:
    return [[mean(cells(one)) + alpha * mean(cells(one)[-k:]) for one in image] for image in maps]
