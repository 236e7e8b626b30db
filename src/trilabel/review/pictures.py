"""Pictures for the page: images of the data set by their number, decoded and encoded again at one of two sizes."""

import io
import threading
from collections import OrderedDict

from PIL import Image

from trilabel.data.dataset import Dataset
from trilabel.data.decode import thumbnail
from trilabel.errors import TrilabelError

SIZES = {"small": 384, "large": 1280}  # pixels of the longer side
CONTENT_TYPE = "image/jpeg"
_MOST_BYTES = 96 << 20
_SMALLEST = 256  # of an image in memory, which may have very few pixels


class Pictures:
    """JPEG files of images; the last ones are kept in memory."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._kept: OrderedDict[tuple[int, str], bytes] = OrderedDict()
        self._bytes, self._lock = 0, threading.Lock()

    def jpeg(self, row: int, size: str) -> bytes:
        """The file; a TrilabelError if the image cannot be read."""
        with self._lock:
            if (row, size) in self._kept:
                self._kept.move_to_end((row, size))
                return self._kept[row, size]
        found = encoded(self.image(row, SIZES[size]))
        with self._lock:
            self._bytes += len(found) - len(self._kept.get((row, size), b""))
            self._kept[row, size] = found
            while self._bytes > _MOST_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])
        return found

    def image(self, row: int, longest: int) -> Image.Image:
        """The image, its longer side at most so many pixels."""
        if self._dataset.images is not None:
            image = Image.fromarray(self._dataset.images[row].permute(1, 2, 0).cpu().numpy())
            larger = -(-_SMALLEST // max(image.size))
            image = image.resize((image.width * larger, image.height * larger), Image.Resampling.NEAREST)
            image.thumbnail((longest, longest))
            return image
        if self._dataset.paths is None:
            raise TrilabelError("the data set has no images")
        return thumbnail(self._dataset.paths[row], longest)


def encoded(image: Image.Image) -> bytes:
    """A JPEG file without anything of the original but its pixels."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=85)
    return file.getvalue()
