"""NBD on plain sockets, as badly as one likes: what the attacks and the bystander are made of."""

import socket
import struct

OPTION = b"IHAVEOPT"
EXPORT_NAME, ABORT, LIST, INFO, GO, STRUCTURED, LIST_META, SET_META = 1, 2, 3, 6, 7, 8, 9, 10
READ, WRITE, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS = range(8)
ACK = 1
KIB, MIB = 1024, 1024 * 1024


def header(command, offset=0, length=0, cookie=0, flags=0):
    """A request without its payload."""
    return struct.pack(">IHHQQI", 0x25609513, flags, command, cookie, offset, length)


class Wire:
    """A connection; it negotiates only as far as it is told to."""

    def __init__(self, address, timeout=60):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.s = socket.socket(family)
        self.s.settimeout(timeout)
        self.s.connect(address)

    def take(self, count):
        """Exactly so many bytes."""
        parts, missing = [], count
        while missing:
            part = self.s.recv(min(missing, MIB))
            if not part:
                raise EOFError("the server has closed the connection")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def send(self, data):
        self.s.sendall(data)

    def greet(self):
        self.take(18)
        self.send(struct.pack(">I", 3))
        return self

    def option(self, number, body=b""):
        self.send(OPTION + struct.pack(">II", number, len(body)) + body)

    def replies(self):
        """The replies to one option, up to its end."""
        found = []
        while True:
            _, _, kind, length = struct.unpack(">QIII", self.take(20))
            found.append((kind, self.take(length)))
            if kind == ACK or kind >> 31:
                return found

    def go(self, export="vol0", structured=False):
        """From the greeting to the first request."""
        self.greet()
        name = struct.pack(">I", len(export)) + export.encode()
        if structured:
            self.option(STRUCTURED)
            self.replies()
            query = b"base:allocation"
            self.option(SET_META, name + struct.pack(">II", 1, len(query)) + query)
            self.replies()
        self.option(GO, name + b"\0\0")
        self.replies()
        return self

    def done(self, cookie):
        """A simple reply; its error number."""
        magic, error, answered = struct.unpack(">IIQ", self.take(16))
        assert magic == 0x67446698 and answered == cookie, f"a reply with magic {magic:#x} and cookie {answered}"
        return error

    def write(self, offset, data, cookie=1):
        self.send(header(WRITE, offset, len(data), cookie) + data)
        return self.done(cookie)

    def read(self, offset, length, cookie=2):
        self.send(header(READ, offset, length, cookie))
        error = self.done(cookie)
        assert error == 0, f"a read failed with {error}"
        return self.take(length)

    def is_closed(self, within):
        """Whether the server ends the connection in so many seconds; what it says before that is thrown away."""
        self.s.settimeout(within)
        try:
            while self.s.recv(MIB):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def close(self):
        self.s.close()
