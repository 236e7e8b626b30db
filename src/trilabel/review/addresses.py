"""Where a server listens, and by which names it may be called."""

import ipaddress
import socket

from trilabel.errors import TrilabelError, system_error

_FIRST_PORT, _PORTS_TRIED = 8765, 20


def listen(host: str, port: int | None) -> socket.socket:
    """A socket at this port, or at the first free one of a few."""
    tried = [port] if port is not None else list(range(_FIRST_PORT, _FIRST_PORT + _PORTS_TRIED))
    for number in tried:
        bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(1024)
        except OSError as error:
            bound.close()
            if number == tried[-1]:
                raise system_error(error, f"{host}:{number}", "give another --port, or --host") from None
        except OverflowError:
            raise TrilabelError(f"port {number}: give a number from 0 to 65535") from None
        else:
            return bound
    raise AssertionError


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(host: str) -> str:
    """The host in a link: of all addresses of a machine, its name."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def names_of(host: str) -> list[str]:
    """The names by which a machine may be called that listens there."""
    return [host, socket.gethostname()] if not is_loopback(host) else [host]
