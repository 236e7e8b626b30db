"""XML of other programs."""

from pathlib import Path

import pytest

from trilabel.data.formats._shared.xml_document import read_xml
from trilabel.errors import TrilabelError


def refusal(action, file: Path) -> str:
    with pytest.raises(TrilabelError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(file), "FILE")


def test_xml(tmp_path):
    file = tmp_path / "a.xml"
    file.write_bytes('\ufeff<a><b n="ö"/></a>'.encode())
    assert read_xml(file)[0].get("n") == "ö"
    for content, message in (
        (b"<a>\n<b>\n</a>", "FILE, line 3: damaged XML (mismatched tag: line 3, column 2)"),
        (b"", "FILE, line 1: damaged XML (no element found: line 1, column 0)"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "FILE, line 1: damaged XML (unknown encoding"),
    ):
        file.write_bytes(content)
        assert refusal(lambda: read_xml(file), file).startswith(message)
    assert (
        refusal(lambda: read_xml(tmp_path / "b"), tmp_path / "b") == "FILE: cannot be read (No such file or directory)"
    )
