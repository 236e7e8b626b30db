"""Labels in a file: plain arrays in an .npz, never pickle."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.input_files import open_input
from trilabel.labels.names import Names
from trilabel.labels.sources import Parts, from_csr

_FORMAT = 1


def save(labels: Parts, path: str | Path) -> None:
    """Writes an .npz file that holds plain arrays only; an existing file is replaced completely or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            format=np.array([_FORMAT, *labels.csr.shape]),
            values=labels.csr.data,
            columns=labels.csr.indices,
            row_ends=labels.csr.indptr,
            classes=labels.classes.buffer,
            class_ends=labels.classes.offsets,
            ids=labels.ids.buffer,
            id_ends=labels.ids.offsets,
        )


def _check(csr: sp.csr_array) -> None:
    """Raises an error for indices that would make SciPy read outside of its arrays.

    Its own check passes over everything if the last row ends below 0.
    """
    ends = csr.indptr
    if ends[0] != 0 or ends[-1] != len(csr.indices) or (ends[1:] < ends[:-1]).any():
        raise ValueError("its rows do not follow each other")
    csr.check_format(full_check=True)


def load(path: str | Path) -> Parts:
    """Reads a file that `save` wrote; nothing is unpickled."""
    try:
        with open_input(path) as opened, zipfile.ZipFile(opened) as archive:
            file = Arrays(archive)
            version, *shape = file["format"].tolist()
            if version != _FORMAT:
                raise TrilabelError(
                    f"labels format {version}, but this version of trilabel reads {_FORMAT}; upgrade trilabel"
                )
            csr = sp.csr_array((file["values"], file["columns"], file["row_ends"]), shape=tuple(shape))
            _check(csr)
            classes = Names.from_stored(file["classes"], file["class_ends"])
            ids = Names.from_stored(file["ids"], file["id_ends"])
            return from_csr(csr, classes, ids)
    except FileNotFoundError:
        raise TrilabelError(f"{path}: no such labels file; restore it") from None
    except TrilabelError as error:
        raise error if str(error).startswith(f"{path}: ") else TrilabelError(f"{path}: {error}") from None
    except Exception as error:  # zipfile, NumPy and SciPy raise a dozen kinds of errors for damaged bytes
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TrilabelError(f"{path}: not a labels file, or cut short ({reason}); write it again") from error


class Arrays:
    """The arrays of an .npz, each read when it is asked for and only if it is as large as the file says.

    `np.load` would unpack a few bytes to gigabytes, and make room for any shape that a header names.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._archive.namelist()

    def shape(self, name: str) -> tuple[int, ...]:
        """Of an array, without reading it."""
        with self._opened(name) as (_, shape, _):
            return shape

    def __getitem__(self, name: str) -> NDArray[Any]:
        with self._opened(name) as (file, shape, dtype):
            return np.frombuffer(file.read(), dtype).reshape(shape)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[IO[bytes], tuple[int, ...], np.dtype[Any]]]:
        about = self._archive.getinfo(f"{name}.npy")
        if about.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name!r} is compressed")
        with self._archive.open(about) as file:
            version = np.lib.format.read_magic(file)
            if version != (1, 0):
                raise ValueError(f"{name!r} is of version {version}")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            if dtype.hasobject or math.prod(shape) * dtype.itemsize != about.file_size - file.tell():
                raise ValueError(f"{name!r} is not as large as its header says")
            yield file, shape, dtype
