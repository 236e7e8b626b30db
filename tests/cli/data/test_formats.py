"""`trilabel data formats`."""

from tests.support.command_line import Capture, call, result
from trilabel.data import FORMATS


def test_formats_are_listed(capsys: Capture) -> None:
    found = result(capsys, "data", "formats")
    assert set(found) == set(FORMATS) and found["open-images"]["options"]["machine"] == "none"
    assert call("data", "formats") == 0
    told = capsys.readouterr().out
    assert "coco (read and written)" in told and "--read not_visible=unknown|absent" in told
    assert "boxes=true" in told
