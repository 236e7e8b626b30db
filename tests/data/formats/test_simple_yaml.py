"""The YAML of data sets' descriptions: against PyYAML where that is at hand, and what is beyond it."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trilabel.data.formats.yolo.simple_yaml import read_yaml
from trilabel.errors import TrilabelError

KEYS = ("names", "train", "path", "nc")


def parsed(folder: Path, text: str | bytes):
    file = folder / "data.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {key: value for key, (_, value) in read_yaml(file, KEYS).items()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names: [a, 'it''s', \"b \\xe9\", d#e] # hi\n", ["a", "it's", "b é", "d#e"]),
        ("names: [ traffic\n  light, # one\n# two\n cat,\n]\n", ["traffic light", "cat"]),
        ("names:\n- a\n-  b # c\n\n# d\n- 'e'\nother:\n- x\n", ["a", "b", "e"]),
        ("names:\r\n  - a\r\n  - b\r\n", ["a", "b"]),
        ('\ufeffnames: {0: cat, 1: "d: g", 2: http://x}\n', {"0": "cat", "1": "d: g", "2": "http://x"}),
        ("'names':\n  0: baker's cart\n  1: a, b\n", {"0": "baker's cart", "1": "a, b"}),
        ("names:\n  0: no\n  1: 007\n  2:\n", {"0": "no", "1": "007", "2": ""}),
        ('names: {"0":a, "1": b, \'2\':"c"}\n', {"0": "a", "1": "b", "2": "c"}),
        ("names: # none\n", None),
        ("names: []\n", None),
        ("a: |\n  names: x\nb:\n  c: {d: [e]}\n---\nnames: text # c\n", "text"),
    ],
)
def test_reads(tmp_path, text, names):
    assert parsed(tmp_path, text) == {"names": names}


@pytest.mark.parametrize("text", ["['a' b]", "['a'b]", '["a" "b"]', "[a, 'b' 'c']", "{0: 'a' b}"])
def test_a_forgotten_comma_is_refused(tmp_path, text):
    with pytest.raises(TrilabelError, match=r"data.yaml, line 1: .* is beyond the YAML read here"):
        parsed(tmp_path, f"names: {text}\n")


NAME = st.text("ab é'\":#,-&[]{}\\0", min_size=1, max_size=9).filter(lambda text: text.strip() == text)


@settings(max_examples=150, deadline=None)
@example(["0", "0", '000000"éé', '000000"éé', ":\\ 0"], True, False)  # folded behind a backslash, in single quotes
@example(["0 '", "0"], True, False)  # a quote inside an unquoted text
@example(["0" * 40, "é\\ 0" * 8], True, False)
@given(st.lists(NAME, min_size=1, max_size=30), st.booleans(), st.booleans())
def test_reads_what_pyyaml_writes(tmp_path_factory, names, flow, as_map):
    yaml = pytest.importorskip("yaml")
    content = {"download": "a\nb: [", "names": dict(enumerate(names)) if as_map else names, "nc": len(names)}
    text = yaml.safe_dump(content, default_flow_style=None if flow else False, sort_keys=False, width=60)
    expected = {str(key): name for key, name in enumerate(names)} if as_map else names
    assert parsed(tmp_path_factory.mktemp("yaml"), text) == {"names": expected, "nc": str(len(names))}


@settings(max_examples=300, deadline=None)
@given(st.text("names: [a'\"{}],-#\n \\|0", max_size=60).map(str.encode) | st.binary(max_size=40))
def test_anything_is_read_or_refused_in_a_line(tmp_path_factory, content):
    try:
        parsed(tmp_path_factory.mktemp("yaml"), b"names: " + content)
    except TrilabelError as error:
        assert "data.yaml, line " in str(error) and "\n" not in str(error)
