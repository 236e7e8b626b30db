"""Rows with cells of any kind, as JSON, Parquet and the like have them, and where each row is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilabel.errors import TrilabelError

ID_COLUMN = "trilabel_id"  # ids, where they are not the names of files
NO_CLASS = {"file_name", "image", "split", ID_COLUMN, "id", "image_id", "width", "height"}
NO_CLASS |= {"labels", "label", "tags", "objects"}


@dataclass(frozen=True)
class Records:
    """The columns of a table; a cell that is empty, null or missing is None."""

    columns: dict[str, list[Any]]
    folders: list[str]  # of the file of each row, below the root and with a slash at the end
    places: list[tuple[Path, int]]  # that file, and the line
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.places)

    def error_at(self, row: int, what: str) -> TrilabelError:
        """An error about a row."""
        file, line = self.places[row]
        return TrilabelError(f"{file}, {self.unit} {line}: {what}")


def plain(cell: Any) -> Any:
    """A cell without NumPy's types, tuples and sets, and None for NaN and empty texts."""
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, dict):
        return {str(name): plain(value) for name, value in cell.items()}
    if isinstance(cell, list | tuple | set):
        return [plain(value) for value in cell]
    return None if cell != cell or cell == "" else cell
