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


def test_entities_are_refused_and_other_files_never_read(tmp_path):
    file, secret = tmp_path / "a.xml", tmp_path / "secret"
    secret.write_text("secret")
    levels = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    for content in (
        f'<!DOCTYPE a [<!ENTITY a0 "boom">{levels}]><a>&a11;</a>',
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}">]><a>&x;</a>',
        f'<!DOCTYPE a [<!ENTITY % x SYSTEM "file://{secret}"> %x;]><a/>',
    ):
        for encoding in ("utf-8", "utf-16"):
            file.write_bytes(content.encode(encoding))
            assert refusal(lambda: read_xml(file), file).startswith("FILE: defines entities")
    file.write_text(f'<!DOCTYPE a SYSTEM "file://{secret}"><a b="1"/>')
    assert read_xml(file).get("b") == "1"


def test_elements_inside_elements_inside_elements(tmp_path):
    """Many of them: nothing in C or Python may walk them by calling itself."""
    (tmp_path / "a.xml").write_text("<a>" * 200_000 + "</a>" * 200_000)
    assert sum(1 for _ in read_xml(tmp_path / "a.xml").iter()) == 200_000
