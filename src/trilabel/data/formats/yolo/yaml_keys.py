"""Keys of a YAML file with the lines they are in, their values left as text."""

from pathlib import Path

import yaml

from trilabel.data.text_files import read_text
from trilabel.errors import TrilabelError

Value = str | list[str] | dict[str, str] | None


def read_yaml(file: Path, wanted: tuple[str, ...]) -> dict[str, tuple[int, Value]]:
    """(line, value) of the wanted keys at the top level; other keys may have any value.

    A value is a text, a list of texts, a map from texts to texts, or None if it is empty. Texts stay as they are
    written: 007, yes and null are not converted.
    """
    found: dict[str, tuple[int, Value]] = {}
    for key, node in _top_level(file):
        if not isinstance(key, yaml.ScalarNode) or key.value not in wanted:
            continue
        if key.value in found:
            raise _repeated(file, key, found[key.value][0])
        found[key.value] = _line(key), _value(file, node)
    return found


def _top_level(file: Path) -> list[tuple[yaml.Node, yaml.Node]]:
    """Keys and values as nodes: an alias is the node it refers to, so that aliases of aliases take no memory."""
    text = read_text(file)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise TrilabelError(f"{file}, line {line}: contains a zero byte, so it is not text; write it again")
    loader = None
    try:
        loader = yaml.BaseLoader(text)
        root = loader.get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise TrilabelError(f"{file}, line {line}: damaged YAML ({error.reason}); correct the line") from None
    except yaml.MarkedYAMLError as error:
        unclosed = "<stream end>" in (error.problem or "") and error.context_mark
        mark = error.context_mark if unclosed else error.problem_mark
        reason = " ".join(f"{error.context or ''} {error.problem or ''}".split())
        line = mark.line + 1 if mark else 1
        raise TrilabelError(f"{file}, line {line}: damaged YAML ({reason}); correct the line") from None
    except (ValueError, OverflowError, RecursionError) as error:  # \Uffffffff; a thousand brackets
        line = loader.line + 1 if loader else 1
        reason = str(error).splitlines()[0]
        raise TrilabelError(f"{file}, line {line}: damaged YAML ({reason}); correct the line") from None
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        raise TrilabelError(f"{file}, line {_line(root)}: contains no keys; write lines such as train: images")
    pairs: list[tuple[yaml.Node, yaml.Node]] = root.value
    return pairs


def _value(file: Path, node: yaml.Node) -> Value:
    if isinstance(node, yaml.SequenceNode):
        return [_text(file, item) for item in node.value] or None
    if isinstance(node, yaml.MappingNode):
        pairs: dict[str, str] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            name = _text(file, key)
            if name in pairs:
                raise _repeated(file, key, lines[name])
            pairs[name], lines[name] = _text(file, value), _line(key)
        return pairs or None
    return _text(file, node) or None


def _text(file: Path, node: yaml.Node) -> str:
    where = f"{file}, line {_line(node)}"
    if not isinstance(node, yaml.ScalarNode):
        kind = "list" if isinstance(node, yaml.SequenceNode) else "map"
        raise TrilabelError(f"{where}: a {kind} inside a list or map; write a text, or a list or map of texts")
    text: str = node.value
    if any(letter == "\0" or "\ud800" <= letter < "\ue000" for letter in text):
        raise TrilabelError(f"{where}: {text[:40]!a} has an escape that is not a character; write the letter itself")
    return text


def _repeated(file: Path, key: yaml.ScalarNode, first: int) -> TrilabelError:
    name = key.value[:40]
    return TrilabelError(f"{file}, line {_line(key)}: {name} is listed twice, first in line {first}; remove one")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
