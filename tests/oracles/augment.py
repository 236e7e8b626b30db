"""Views of one image at a time and one pixel at a time, from the same random draws."""

import math

import torch


def normalized(image, mean, std):
    """3×H×W uint8 -> nested lists of (value/255 − mean) / std."""
    return [
        [[(v / 255 - m) / s for v in row] for row in plane]
        for plane, m, s in zip(image.tolist(), mean, std, strict=True)
    ]


def crop_boxes(count, least_area, draw):
    """(left, top, width, height) of each image's crop, as shares of the image."""
    areas = torch.empty(count).uniform_(least_area, 1, generator=draw).tolist()
    ratios = torch.empty(count).uniform_(-0.2877, 0.2877, generator=draw).exp().tolist()
    right, down = torch.rand(2, count, generator=draw).tolist()
    boxes = []
    for area, ratio, x, y in zip(areas, ratios, right, down, strict=True):
        width = min(1.0, math.sqrt(area * ratio))
        width = max(width, area)
        height = area / width
        boxes.append((x * (1 - width), y * (1 - height), width, height))
    return boxes


def crop(image, box):
    """The box of a 3×H×W image blown up to H×W: at every new pixel's centre, bilinear between the old centres."""
    (_, height, width), (left, top, wide, high) = image.shape, box
    result = torch.empty(image.shape)
    for row in range(height):
        for column in range(width):
            x = (left + (column + 0.5) / width * wide) * width - 0.5
            y = (top + (row + 0.5) / height * high) * height - 0.5
            x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
            x0, y0 = int(x), int(y)
            x1, y1 = min(x0 + 1, width - 1), min(y0 + 1, height - 1)
            upper = image[:, y0, x0] * (1 - (x - x0)) + image[:, y0, x1] * (x - x0)
            lower = image[:, y1, x0] * (1 - (x - x0)) + image[:, y1, x1] * (x - x0)
            result[:, row, column] = upper * (1 - (y - y0)) + lower * (y - y0)
    return result


def changed(images, operations, draw):
    """Two drawn operations on each image, applied one image at a time."""
    for _ in range(2):
        choice = torch.randint(len(operations), (len(images),), generator=draw).tolist()
        images = torch.cat([operations[number](images[i : i + 1]) for i, number in enumerate(choice)])
    return images
