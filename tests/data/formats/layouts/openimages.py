"""Open Images as V4 to V6 publish it: label files by split, descriptions without a header, confidence 0 rows."""

from pathlib import Path

HEADER = "ImageID,Source,LabelName,Confidence\n"
TRAIN = """\
000002b66c9c498e,verification,/m/014j1m,0
000002b66c9c498e,verification,/m/014sv8,1
000002b66c9c498e,crowdsource-verification,/m/0bt9lr,1
000002b97e5471a0,verification,/m/014sv8,0
000002b97e5471a0,verification,/m/0bt9lr,1.0
00002a7de1e7ea3c,verification,/m/0bt9lr,1
00002a7de1e7ea3c,crowdsource-verification,/m/0bt9lr,0
"""
MACHINE = """\
000002b66c9c498e,machine,/m/014j1m,0.9
000002b97e5471a0,machine,/m/014j1m,0.7
00008ade5af2b5a1,machine,/m/0bt9lr,0.5
00008ade5af2b5a1,machine,/m/02wbm,0.9
"""
DESCRIPTIONS = """\
/m/02wbm,Food
/m/014sv8,Human eye
/m/0bt9lr,"Dog, domestic"
/m/014j1m,Apple
/m/01xyz,Apple
/m/0pc9,Alphorn
"""


def write(root: Path) -> Path:
    (root / "train-annotations-human-imagelabels.csv").write_text(HEADER + TRAIN)
    (root / "train-annotations-machine-imagelabels.csv").write_text(HEADER + MACHINE)
    (root / "validation-annotations-human-imagelabels.csv").write_text(
        HEADER + "0001eeaf4aed83f9,verification,/m/014j1m,1\n0001eeaf4aed83f9,verification,/m/01xyz,0\n"
    )
    # Test rows as a spreadsheet saves them: a byte-order mark and Windows line ends.
    test = (HEADER + "000026e7ee790996,verification,/m/02wbm,0\n").replace("\n", "\r\n")
    (root / "test-annotations-human-imagelabels.csv").write_bytes(b"\xef\xbb\xbf" + test.encode())
    (root / "class-descriptions.csv").write_text(DESCRIPTIONS)
    (root / "classes-trainable.txt").write_text("/m/0bt9lr\n/m/014j1m\n/m/0pc9\n")
    (root / "class-descriptions-boxable.csv").write_text('/m/014sv8,Human eye\n/m/0bt9lr,"Dog, domestic"\n')
    for file in ("train/000002b66c9c498e.jpg", "train/000002b97e5471a0.jpg", "validation/0001eeaf4aed83f9.jpg"):
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).touch()
    return root
