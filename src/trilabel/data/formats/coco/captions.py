"""Captions of COCO as labels: the most frequent words are the classes."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.formats._shared.frequent_names import most_frequent, positives
from trilabel.data.formats.coco.annotation_file import AnnotationFile, CocoLabels
from trilabel.data.image_paths import split_name
from trilabel.errors import TrilabelError

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


class Captions:
    """Collects the words of captions, file by file."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.codes: defaultdict[str, int] = defaultdict(count().__next__)  # of each word, by first appearance
        self.images: list[NDArray[np.int64]] = []  # for every word of every caption the image …
        self.words: list[NDArray[np.int64]] = []  # … and the code
        self.captioned: list[NDArray[np.int64]] = []  # for every caption the image

    def add(self, part: AnnotationFile, start: int) -> None:
        """Adds the captions of a file whose first image has number `start`."""
        texts = part.annotations.column("caption", str)
        found = [words_of(text) for text in texts]
        self.words.append(np.fromiter(map(self.codes.__getitem__, chain.from_iterable(found)), np.int64))
        self.captioned.append(start + part.image_of)
        self.images.append(np.repeat(start + part.image_of, np.fromiter(map(len, found), np.int64, len(found))))

    def content(self, split_of: Sequence[str]) -> CocoLabels:
        """The labels of all files; `split_of` has the split of each image."""
        images, words = np.concatenate(self.images), np.concatenate(self.words)
        train = np.array([split_name(split) == "train" for split in split_of])
        source = "the train split" if train.any() else "all splits"
        counted = words[train[images]] if train.any() else words
        if not len(counted):
            raise TrilabelError(f"{self.path}: captions of {source} contain no words, so there are no classes")
        # Fang et al. (2015) remove punctuation but no stop words ("a", "on" and "of" lead their vocabulary); IMCL and
        # the papers that it follows only mention the most frequent words.
        classes, column = most_frequent(self.codes, counted, self.size)
        named = column[words] >= 0
        entries = positives(images[named], column[words[named]], len(classes))
        captioned = np.flatnonzero(np.bincount(np.concatenate(self.captioned), minlength=len(split_of)))
        notes = [
            f"classes are the {len(classes)} most frequent words in captions of {source}; words of an image's "
            "captions are present, others absent"
        ]
        if len(captioned) < len(split_of):
            notes.append(f"{len(split_of) - len(captioned)} images without captions are unknown")
        return CocoLabels(classes, entries, captioned, np.zeros((0, 6)), notes)


def words_of(caption: str) -> list[str]:
    """The words of a text in lower case: runs of letters and digits, with apostrophes inside.

    >>> words_of("A man's café, at 7pm -- 'open'!")
    ['a', "man's", 'café', 'at', '7pm', 'open']
    """
    if not caption.isascii():
        caption = unicodedata.normalize("NFC", caption).replace("’", "'")
    return _WORD.findall(caption.lower())
