"""Links in circles, links that lead nowhere, and folders that are too wide to be searched."""

from trilabel.data.folder_search import too_wide
from trilabel.data.image_paths import existing, walk


def test_folders_that_contain_themselves_are_searched_once(tmp_path):
    """A link to a folder around it, two that lead into each other, and a folder linked twice, which is no loop."""
    for name in ("a/1.jpg", "b/2.jpg", "c/3.jpg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/over").symlink_to("../b")
    (tmp_path / "b/over").symlink_to("../a")
    (tmp_path / "again").symlink_to("c")
    (tmp_path / "and again").symlink_to("c")
    found = sorted(walk(tmp_path))
    assert {"a/1.jpg", "b/2.jpg", "c/3.jpg", "again/3.jpg", "and again/3.jpg"} <= set(found)
    assert len(found) < 20


def test_folders_that_all_link_to_each_other_are_not_searched_in_every_order(tmp_path, caplog):
    count = 9  # 1.5 million ways
    for number in range(count):
        (tmp_path / str(number)).mkdir()
        (tmp_path / f"{number}/1.jpg").touch()
        for other in set(range(count)) - {number}:
            (tmp_path / f"{number}/to {other}").symlink_to(f"../{other}")
    found = set(walk(tmp_path))
    direct = {f"{one}/to {two}/1.jpg" for one in range(count) for two in range(count) if one != two}
    assert direct | {f"{number}/1.jpg" for number in range(count)} <= found
    assert len(found) < 1000 and len(caplog.messages) == 1 and "are left out" in caplog.text


def test_a_folder_that_many_link_to_is_found_in_each(tmp_path):
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool/1.jpg").touch()
    for number in range(100):
        (tmp_path / str(number)).symlink_to("pool")
    assert len(list(walk(tmp_path))) == 101


def test_a_link_to_itself_does_not_hide_the_other_files(tmp_path):
    (tmp_path / "1.jpg").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "loop.jpg").symlink_to("loop.jpg")
    assert sorted(walk(tmp_path)) == ["1.jpg", "loop.jpg"]
    assert existing([str(tmp_path / "1.jpg"), str(tmp_path / "loop.jpg")]).tolist() == [True, False]


def test_memory_that_is_a_folder_is_no_folder_of_the_system():
    assert too_wide("/dev/shm") is None and too_wide("/proc/self") == "a folder of the system"
