"""Files in a .tar, by the block that they start at."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from trilabel.archives import member_size, names_in, open_member
from trilabel.archives.tar_members import address, members
from trilabel.errors import TrilabelError
from trilabel.input_files import open_input

LONG = "photos/" + "é鳥" * 60 + ".jpg"


@pytest.fixture(params=[tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def tar(tmp_path, request) -> Path:
    """Some files, of every kind of tar; the old kind has no long names."""
    names = ["a.jpg", "./b.jpg", "photos/v1.0@2/c.seg.png", *([LONG] if request.param else [])]
    with tarfile.open(tmp_path / "x.tar", "w", format=request.param) as out:
        for number, name in enumerate(names):
            content = bytes([number]) * (700 * number + 1)
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
        for kind in (tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
            link = tarfile.TarInfo("other")
            link.type, link.linkname = kind, "/etc/passwd"
            out.addfile(link)
    return tmp_path / "x.tar"


def listed(tar: Path) -> dict[str, str]:
    """The path of each file in a tar, by its name."""
    with tar.open("rb") as file:
        return {info.name: f"{tar}/{address(info)}" for info in members(str(tar), file)}


def test_every_file_is_found_at_its_place(tar):
    found = listed(tar)
    assert [Path(path).name for path in found.values()][:3] == ["a@0.jpg", "b@2.jpg", "c.seg@5.png"]
    for number, path in enumerate(found.values()):
        content = bytes([number]) * (700 * number + 1)
        assert member_size(path) == len(content)
        with open_input(path) as file:
            assert file.read() == content
            assert file.seek(-1, os.SEEK_END) == len(content) - 1 and file.read(9) == content[-1:]
            assert file.seek(0) == 0 and file.read(2) == content[:2]
    assert names_in(tar) == {"a@0.jpg", "b@2.jpg"} and not names_in(f"{tar}/no")


def test_places_that_are_not_there(tar):
    for name in ("a.jpg", "a@x.jpg", "a@99999999999999999999.jpg", "@.jpg"):
        with pytest.raises(FileNotFoundError):
            open_input(f"{tar}/{name}")
    for name in ("b@0.jpg", "a@1.jpg", "a@400.jpg"):  # another file, no header, beyond the end
        with pytest.raises(TrilabelError, match="is not at this place any more; the tar has changed"):
            open_member(f"{tar}/{name}")


def test_a_tar_that_was_replaced(tar):
    path = listed(tar)["a.jpg"]
    with tarfile.open(tar, "w") as out:
        out.addfile(tarfile.TarInfo("z.jpg"))
    with pytest.raises(TrilabelError, match=r"a@0\.jpg: a\.jpg is not at this place"):
        open_member(path)


@pytest.mark.parametrize("name", ["../up.jpg", "/etc/passwd", "a/../../up.jpg"])
def test_no_path_escapes(tmp_path, name):
    with tarfile.open(tmp_path / "x.tar", "w") as out:
        out.addfile(tarfile.TarInfo(name))
    with pytest.raises(TrilabelError, match="leads out of the archive; do not trust it"):
        listed(tmp_path / "x.tar")


def test_damage_is_not_taken_for_the_end(tar):
    content = bytearray(tar.read_bytes())
    content[2 * 512 + 150] ^= 0xFF  # the checksum of the second header
    tar.write_bytes(content)
    with pytest.raises(TrilabelError, match=r"cannot be read as a tar \(damaged header at byte 1,024\)"):
        listed(tar)
    tar.write_bytes(content[:1500])
    with pytest.raises(TrilabelError, match="cannot be read as a tar"):
        listed(tar)
    assert names_in(tar) == set()


def test_a_header_that_would_fill_the_memory(tmp_path):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    (tmp_path / "x.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048)
    with pytest.raises(TrilabelError, match="a header of 8,589,934,592 bytes"):
        listed(tmp_path / "x.tar")
