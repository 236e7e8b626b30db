"""CelebA: attributes with one or two blanks between them and one at the end, and the partition beside."""

from pathlib import Path

ATTRIBUTES = (
    "3\r\n5_o_Clock_Shadow Bald Wavy_Hair \r\n000001.jpg -1  1  1\r\n000002.jpg -1 -1 -1\r\n000003.jpg  1 -1  1 \r\n"
)


def write(root: Path) -> Path:
    """Writes three images with three attributes."""
    for folder in ("Anno", "Eval", "Img/img_align_celeba"):
        (root / folder).mkdir(parents=True)
    (root / "Anno/list_attr_celeba.txt").write_bytes(ATTRIBUTES.encode())
    (root / "Eval/list_eval_partition.txt").write_text("000001.jpg 0\n000002.jpg 2\n000003.jpg 1\n")
    (root / "Img/img_align_celeba/000001.jpg").touch()
    return root
