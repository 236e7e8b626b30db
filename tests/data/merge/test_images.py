"""Which images of several data sets are the same."""

import pytest

from trilabel.data.merge.images import bare_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a/street_026.jpg", "street_026"),
        ("street_026_jpg.rf.1c8e0a7b.jpg", "street_026"),
        ("x/00001eef-street_026.JPEG", "street_026"),
        ("00001eef-street_026_png.rf.AbC.png", "street_026"),
        ("000123", "000123"),
        ("deadbeef-", "deadbeef-"),
        ("a.b.png", "a.b"),
    ],
)
def test_names_without_what_tools_add(path, name):
    assert bare_name(path) == name
