"""XML files as other programs write them, with errors that name the file and the line."""

from pathlib import Path
from xml.etree import ElementTree

from trilabel.errors import TrilabelError


def read_xml(file: Path) -> ElementTree.Element:
    """The root element of an XML file."""
    try:
        return ElementTree.fromstring(file.read_bytes())
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror or error})") from None
    except ElementTree.ParseError as error:
        raise TrilabelError(
            f"{file}, line {error.position[0]}: damaged XML ({error}); export or copy it again"
        ) from None
    except (LookupError, ValueError) as error:  # an unknown encoding
        raise TrilabelError(f"{file}, line 1: damaged XML ({error})") from None
