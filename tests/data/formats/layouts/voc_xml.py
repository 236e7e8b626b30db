"""Annotations as CVAT and datumaro export them: Annotations, ImageSets/Main/default.txt or splits, labelmap.txt."""

from pathlib import Path

LABEL_MAP = (
    "# label:color_rgb:parts:actions\nbackground:0,0,0::\ncat:61,245,61::\nhot dog:140,120,240::\nbird:250,50,83::\n"
)
OBJECTS: dict[str, list[tuple[str, int, float, float, float, float]]] = {
    "a": [("cat", 0, 0.0, 0.0, 100.0, 50.0), ("cat", 1, 10.5, 5.0, 20.0, 10.0)],
    "sub/b": [("hot dog", 1, 20.0, 10.0, 40.25, 20.0), ("cat", 0, 0.0, 0.0, 50.0, 50.0)],
    "c.v2": [],
}


def annotation(name: str, objects: list[tuple[str, int, float, float, float, float]]) -> str:
    """The annotation of an image of 100 by 50 pixels."""
    drawn = "".join(
        f"  <object>\n    <name>{cls}</name>\n    <truncated>0</truncated>\n    <occluded>0</occluded>\n"
        f"    <difficult>{hard}</difficult>\n    <bndbox>\n      <xmin>{x0}</xmin>\n      <ymin>{y0}</ymin>\n"
        f"      <xmax>{x1}</xmax>\n      <ymax>{y1}</ymax>\n    </bndbox>\n    <attributes>\n      <attribute>\n"
        "        <name>rotation</name>\n        <value>0.0</value>\n      </attribute>\n    </attributes>\n"
        "  </object>\n"
        for cls, hard, x0, y0, x1, y1 in objects
    )
    return (
        f"<annotation>\n  <folder></folder>\n  <filename>{name}.jpg</filename>\n  <source>\n    <database>Unknown"
        "</database>\n    <annotation>Unknown</annotation>\n    <image>Unknown</image>\n  </source>\n  <size>\n"
        "    <width>100</width>\n    <height>50</height>\n    <depth></depth>\n  </size>\n  <segmented>0</segmented>\n"
        f"{drawn}</annotation>\n"
    )


def write(root: Path) -> Path:
    """Writes three annotated images and one without annotation, and returns their folder."""
    home = root / "task_7_pascal_voc"
    (home / "ImageSets/Main").mkdir(parents=True)
    (home / "SegmentationClass").mkdir()
    (home / "labelmap.txt").write_text(LABEL_MAP)
    (home / "ImageSets/Main/train.txt").write_text("a\nsub/b\n")
    (home / "ImageSets/Main/val.txt").write_text("c.v2\nd\n")
    for name in (*OBJECTS, "d"):
        for folder in ("Annotations", "JPEGImages"):
            (home / folder / name).parent.mkdir(parents=True, exist_ok=True)
        (home / f"JPEGImages/{name}.jpg").touch()
        (home / "SegmentationClass" / f"{Path(name).name}.png").touch()
        if name in OBJECTS:
            (home / f"Annotations/{name}.xml").write_text(annotation(name, OBJECTS[name]))
    return home
