"""A table with all tags of an image in one cell."""

from pathlib import Path


def write(root: Path) -> Path:
    path = root / "tags.csv"
    path.write_text(
        "image,tags,split\n1.jpg,cat;Hund groß,train\n2.jpg,,train\n"
        '3.jpg," dog; cat; dog ",val\n4.jpg,"big, brown",\n5.jpg,cat,val\n',
        encoding="utf-8",
    )
    return path
