"""A long table: a known label a row, tabs between the cells, Windows line ends."""

from pathlib import Path

TABLE = """\
image\tlabel\tvalue\tsplit
1.jpg\tcat\t1\ttrain
1.jpg\tdog\t0\ttrain
2.jpg\tdog\t1\tvalidation
3.jpg\t\t\ttest
4.jpg\tcafé\t1\ttrain
"""


def write(root: Path) -> Path:
    """Writes four images with three classes."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "labels.tsv").write_bytes(TABLE.replace("\n", "\r\n").encode())
    return root / "labels.tsv"
