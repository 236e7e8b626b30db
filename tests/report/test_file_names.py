"""File names of pictures."""

from hypothesis import given
from hypothesis import strategies as st

from trilabel.report.file_names import FileNames


@given(st.lists(st.text(max_size=300) | st.sampled_from(["a", "A", "a-2", "..", "a/../..", "", ".", "x.jpg", "C:\\x"])))
def test_names_are_safe_and_given_once(ids):
    name = FileNames(["overview"])
    given_names = [name(each) for each in ids]
    assert len({each.lower() for each in given_names} | {"overview"}) == len(ids) + 1
    for each in given_names:
        assert each and len(each.encode()) < 220 and not set(each) & set('/\\:*?"<>|\0 \n') and not each.startswith(".")


def test_names_are_the_last_part_of_the_id():
    name = FileNames()
    ids = ["photos/2008_000123.jpg", "000123", "v1.5", "Größe 7.PNG", "2008_000123"]
    assert [name(each) for each in ids] == ["2008_000123", "000123", "v1.5", "Größe_7", "2008_000123-2"]
