"""XML files as other programs write them, with errors that name the file and the line."""

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from trilabel.errors import TrilabelError
from trilabel.input_files import read_input

_ENTITY = b"<!ENTITY"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_xml(file: Path) -> ElementTree.Element:
    """The root element of an XML file."""
    try:
        content = read_input(file)
        if _ENTITY in content.replace(b"\0", b""):  # also in UTF-16
            raise TrilabelError(f"{file}: defines entities, which can become gigabytes; export it without them")
        return ElementTree.fromstring(content)
    except TrilabelError:
        raise
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror or error})") from None
    except ElementTree.ParseError as error:
        raise TrilabelError(
            f"{file}, line {error.position[0]}: damaged XML ({error}); export or copy it again"
        ) from None
    except (LookupError, ValueError) as error:  # an unknown encoding
        raise TrilabelError(f"{file}, line 1: damaged XML ({error})") from None


def refuse_control_letters(path: Path, texts: Iterable[str]) -> None:
    """Refuses texts that no XML file can hold."""
    for text in texts:
        if _CONTROL.search(text):
            raise TrilabelError(f"{path}: the name {text!r} has a letter that XML cannot hold; rename it")
