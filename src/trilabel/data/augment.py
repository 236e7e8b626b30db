"""Augmentation of batches of images, on the device that the batch is on.

Each function works on the whole batch at once with a random draw per image. The draws come from a CPU generator that
the caller seeds, so a run produces the same views on every device and after every restart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F
from torchvision.transforms.v2 import functional as V

_OPERATIONS_PER_IMAGE = 2
_LEAST_ERASED = 0.02


@dataclass(frozen=True)
class Views:
    """Turns uint8 images (B×3×S×S) into the input of a backbone: float, normalized, augmented or not."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    flip: bool = True
    crop: float = 1.0
    erase: float = 0.33

    def plain(self, images: Tensor) -> Tensor:
        """The image as it is: for scoring."""
        return self._normalize(images)

    def weak(self, images: Tensor, draw: torch.Generator) -> Tensor:
        """Mirrored half of the time, and cropped if `crop` is below 1."""
        if self.flip:
            images = mirrored(images, draw)
        return self._normalize(cropped(images, self.crop, draw) if self.crop < 1 else images)

    def strong(self, images: Tensor, draw: torch.Generator) -> Tensor:
        """The weak view, then two random operations of RandAugment, then a rectangle erased if `erase` is above 0."""
        if self.flip:
            images = mirrored(images, draw)
        if self.crop < 1:
            images = _to_uint8(cropped(images, self.crop, draw))
        changed = self._normalize(randomly_changed(images, draw))
        return erased(changed, self.erase, draw) if self.erase else changed

    def _normalize(self, images: Tensor) -> Tensor:
        return (images - _per_channel(self.mean, images.device)) / _per_channel(self.std, images.device)


@lru_cache
def _per_channel(values: tuple[float, ...], device: torch.device) -> Tensor:
    """Color statistics on the scale of uint8, 3×1×1; kept, because sending them again would wait for the device."""
    return 255 * torch.tensor(values, device=device).view(-1, 1, 1)


def mirrored(images: Tensor, draw: torch.Generator) -> Tensor:
    """Each image mirrored left to right with probability ½."""
    chosen = (torch.rand(len(images), generator=draw) < 0.5).to(images.device, non_blocking=True)
    return torch.where(chosen.view(-1, 1, 1, 1), images.flip(-1), images)


def cropped(images: Tensor, least_area: float, draw: torch.Generator) -> Tensor:
    """A random rectangle of each image (area at least the given share, sides 3:4 to 4:3) resized to full size."""
    area = torch.empty(len(images)).uniform_(least_area, 1, generator=draw)
    ratio = torch.empty(len(images)).uniform_(-0.2877, 0.2877, generator=draw).exp()  # log(4/3)
    width = (area * ratio).sqrt().clamp(max=1).maximum(area)  # narrower, and the height would not fit
    height = area / width
    center_x, center_y = (2 * torch.rand(2, len(images), generator=draw) - 1) * (1 - torch.stack((width, height)))
    zero = torch.zeros_like(width)
    affine = torch.stack((width, zero, center_x, zero, height, center_y), 1).view(-1, 2, 3)
    grid = F.affine_grid(affine.to(images.device, non_blocking=True), list(images.shape), align_corners=False)
    return F.grid_sample(images.float(), grid, padding_mode="reflection", align_corners=False)


def erased(images: Tensor, largest: float, draw: torch.Generator) -> Tensor:
    """A random rectangle of each image, at most this share of it, set to 0 (the mean color, after normalization)."""
    count, (height, width) = len(images), images.shape[-2:]
    area = torch.empty(count).uniform_(min(_LEAST_ERASED, largest), largest, generator=draw)
    ratio = torch.empty(count).uniform_(-1.2, 1.2, generator=draw).exp()
    share = torch.stack(((area * ratio).sqrt(), (area / ratio).sqrt()), 1).clamp(max=1)
    start = torch.rand(count, 2, generator=draw) * (1 - share)
    box = torch.cat((start, start + share), 1).to(images.device, non_blocking=True)
    y = (torch.arange(height, device=images.device) + 0.5) / height
    x = (torch.arange(width, device=images.device) + 0.5) / width
    inside_y = (y >= box[:, :1]) & (y < box[:, 2:3])
    inside_x = (x >= box[:, 1:2]) & (x < box[:, 3:])
    return images.masked_fill((inside_y[:, None, :, None] & inside_x[:, None, None, :]), 0)


def randomly_changed(images: Tensor, draw: torch.Generator) -> Tensor:
    """Two random operations of RandAugment on each uint8 image.

    Images with the same operation are changed together: one call per operation, not one per image. The choice is made
    on the CPU, so nothing waits for the device.
    """
    for _ in range(_OPERATIONS_PER_IMAGE):
        choice = torch.randint(len(OPERATIONS), (len(images),), generator=draw)
        parts = [(torch.nonzero(choice == number).view(-1), change) for number, change in enumerate(OPERATIONS)]
        parts = [(rows.to(images.device, non_blocking=True), change) for rows, change in parts if len(rows)]
        changed = torch.cat([change(images[rows]) for rows, change in parts])
        images = torch.empty_like(images).index_copy_(0, torch.cat([rows for rows, _ in parts]), changed)
    return images


def _moved(*matrix: float) -> Callable[[Tensor], Tensor]:
    """Each new pixel (x, y) in [−1, 1] is read from matrix · (x, y, 1), row by row; outside is the mean color."""

    def change(images: Tensor) -> Tensor:
        grid = F.affine_grid(_matrix(matrix, images.device).expand(len(images), 2, 3), list(images.shape), False)
        color = _per_channel((0.485, 0.456, 0.406), images.device)
        return _to_uint8(F.grid_sample(images - color, grid, align_corners=False) + color)

    return change


@lru_cache
def _matrix(values: tuple[float, ...], device: torch.device) -> Tensor:
    return torch.tensor(values, device=device).view(1, 2, 3)


def _sharpened(factor: float) -> Callable[[Tensor], Tensor]:
    """Away from (factor > 1) or towards the image smoothed over 3×3 pixels, the middle one counting five times."""

    def change(images: Tensor) -> Tensor:
        sharp = images.float()
        smooth = (9 * F.avg_pool2d(sharp, 3, 1, 1, count_include_pad=False) + 4 * sharp) / 13
        return _to_uint8(smooth.lerp(sharp, factor))

    return change


def _to_uint8(images: Tensor) -> Tensor:
    return images.round().clamp(0, 255).to(torch.uint8)


# RandAugment's operations at magnitude 9 of 30, signed ones once each way. None of them waits for the device, which
# is why torchvision's moves and sharpening are not among them.
OPERATIONS: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda images: images,
    _moved(0.988, -0.156, 0, 0.156, 0.988, 0),  # turned by 9°
    _moved(0.988, 0.156, 0, -0.156, 0.988, 0),
    _moved(1, 0, 0.28, 0, 1, 0),  # shifted by 14 %
    _moved(1, 0, -0.28, 0, 1, 0),
    _moved(1, 0, 0, 0, 1, 0.28),
    _moved(1, 0, 0, 0, 1, -0.28),
    _moved(1, 0.09, 0, 0, 1, 0),  # sheared by 5°
    _moved(1, -0.09, 0, 0, 1, 0),
    _moved(1, 0, 0, 0.09, 1, 0),
    _moved(1, 0, 0, -0.09, 1, 0),
    lambda images: V.adjust_brightness(images, 1.27),
    lambda images: V.adjust_brightness(images, 0.73),
    lambda images: V.adjust_saturation(images, 1.27),
    lambda images: V.adjust_saturation(images, 0.73),
    lambda images: V.adjust_contrast(images, 1.27),
    lambda images: V.adjust_contrast(images, 0.73),
    _sharpened(1.27),
    _sharpened(0.73),
    lambda images: V.posterize(images, 7),
    lambda images: V.solarize(images, 178.0),
    V.autocontrast,
    V.equalize,
)
