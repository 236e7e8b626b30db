"""WebDataset shards with JSON and captions, as scrapers write them: keys name the shard, one sample lacks its image."""

import json
from pathlib import Path

from tests.data.formats.layouts.huggingface_parquet import image
from tests.data.formats.layouts.webdataset_cls import shard

RECORDS = {
    "00000.tar": [{"labels": ["cat", "dog"], "width": 6}, {"labels": [], "width": 6}],
    "00001.tar": [{"labels": ["big bird"], "width": 6}, {"width": 6, "labels": None}],
}


def write(root: Path) -> Path:
    """Writes the shards below `root` and returns their folder."""
    home = root / "scraped"
    for number, (name, records) in enumerate(RECORDS.items()):
        members: dict[str, bytes] = {}
        for row, record in enumerate(records):
            key = f"photos v1.0/{number:05}{row:04}"
            members |= {f"{key}.jpg": image(10 * number + row), f"{key}.txt": "a café".encode()}
            members[f"{key}.json"] = json.dumps(record).encode()
        members["lost.json"] = b'{"labels": ["dog"]}'
        shard(home / name, members)
        (home / f"{name[:-4]}_stats.json").write_text(json.dumps({"count": 3, "successes": 2}))
    return home
