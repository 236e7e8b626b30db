"""Keys of YAML files: values stay text, and whatever is wrong is named by file and line."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.data.formats.yolo.yaml_keys import read_yaml
from trilabel.errors import TrilabelError

KEYS = ("names", "train", "path", "nc")


def saved(folder: Path, text: str | bytes) -> Path:
    file = folder / "data.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def parsed(folder: Path, text: str | bytes):
    return {key: value for key, (_, value) in read_yaml(saved(folder, text), KEYS).items()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names: [a, 'it''s', \"b \\xe9\", d#e] # hi\n", ["a", "it's", "b é", "d#e"]),
        ("names:\r\n  - a\r\n  - b\r\n", ["a", "b"]),
        ('\ufeffnames: {0: cat, 1: "d: g", 2: http://x}\n', {"0": "cat", "1": "d: g", "2": "http://x"}),
        ("names:\n  0: no\n  1: 007\n  2:\n", {"0": "no", "1": "007", "2": ""}),
        ("names: # none\n", None),
        ("names: []\n", None),
        ("---\na: |\n  names: x\nb:\n  c: {d: [e]}\n? [x]\n: y\nnames: text # c\n", "text"),
        ("a: &a [cat, dog]\nb: {c: [*a, *a]}\nnames: *a\n", ["cat", "dog"]),
    ],
)
def test_values_stay_text_and_other_keys_are_passed_over(tmp_path, text, names):
    assert parsed(tmp_path, text) == {"names": names}


def test_keys_have_lines(tmp_path):
    text = "# a\npath: x\nother: 1\n\nnames:\n- a\n"
    assert read_yaml(saved(tmp_path, text), KEYS) == {"path": (2, "x"), "names": (5, ["a"])}
    assert read_yaml(saved(tmp_path, "# nothing\n"), KEYS) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("names: ['a' b]", "line 1: damaged YAML (while parsing a flow sequence expected ',' or ']'"),
        ("nc: 1\nnames: [a,\n b\n", "line 2: damaged YAML (while parsing a flow sequence"),
        ("nc: 1\nnames: [a, [b]]", "line 2: a list inside a list or map; write a text, or a list or map of texts"),
        ("nc: 1\nnc: 2", "line 2: nc is listed twice, first in line 1; remove one"),
        ("names:\n  0: a\n  0: b", "line 3: 0 is listed twice, first in line 2; remove one"),
        ("names: *no", "line 1: damaged YAML (found undefined alias 'no')"),
        ("nc: 1\nnames: &a [*a]", "line 2: a list inside a list or map"),
        ("nc: 1\n---\nnc: 2", "line 2: damaged YAML (expected a single document"),
        ("- a", "line 1: contains no keys; write lines such as train: images"),
        ("a: 1\nnames: \x01", "line 2: damaged YAML (special characters are not allowed)"),
        ('a: 1\nnames: ["\\ud83d"]', "line 2: '\\ud83d' has an escape that is not a character"),
        ('a: 1\nnames: ["\\Uffffffff"]', "line 2: damaged YAML ("),
        ("a: " + "[" * 100_000, "line 1: damaged YAML ("),
        ("names: [a]\nb: " + "{c: " * 20_000 + "}" * 20_000, "line 2: damaged YAML ("),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path, text, message):
    with pytest.raises(TrilabelError) as caught:
        parsed(tmp_path, text)
    assert f"data.yaml, {message}" in str(caught.value) and "\n" not in str(caught.value)


def test_aliases_of_aliases_take_no_memory(tmp_path):
    """Nine aliases of the line above, ten times over: a billion values, were they written out."""
    lines = ["a0: &a0 [x]"] + [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(10)]
    assert parsed(tmp_path, "\n".join([*lines, "names: [cat]"])) == {"names": ["cat"]}
    with pytest.raises(TrilabelError, match="a list inside a list or map"):
        parsed(tmp_path, "\n".join([*lines, "names: *a10"]))


NAME = st.text("ab é'\":#,-&[]{}\\0", min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(st.lists(NAME, min_size=1, max_size=30), st.booleans(), st.booleans())
def test_reads_what_pyyaml_writes(tmp_path_factory, names, flow, as_map):
    content = {"download": "a\nb: [", "names": dict(enumerate(names)) if as_map else names, "nc": len(names)}
    text = yaml.safe_dump(content, default_flow_style=None if flow else False, sort_keys=False, width=60)
    expected = {str(key): name for key, name in enumerate(names)} if as_map else names
    assert parsed(tmp_path_factory.mktemp("yaml"), text) == {"names": expected, "nc": str(len(names))}


@settings(max_examples=200, deadline=None)
@given(st.text("names: [a'\"{}],-#\n \\|0*&", max_size=60).map(str.encode) | st.binary(max_size=40))
def test_anything_is_read_or_refused_in_a_line(tmp_path_factory, content):
    try:
        assert set(parsed(tmp_path_factory.mktemp("yaml"), b"names: " + content)) <= set(KEYS)
    except TrilabelError as error:
        assert "data.yaml, line " in str(error) and "\n" not in str(error)
