"""A proxy before PostgreSQL that loses a connection at a chosen message, or passes nothing on, as networks do."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Iterator

from sqlalchemy import make_url


class Proxy:
    """Passes bytes both ways until `lose` names the message at which a connection is to be lost.

    While it is `dead`, whatever comes is swallowed: neither end is told that the other one no longer hears it.
    """

    def __init__(self, url: str, listener: socket.socket) -> None:
        target = make_url(url)
        self._server = (target.host or "127.0.0.1", target.port or 5432)
        plain = {**target.query, "sslmode": "disable", "gssencmode": "disable"}
        here = target.set(host="127.0.0.1", port=listener.getsockname()[1], query=plain)
        self.url = here.render_as_string(hide_password=False)
        self.lost = 0
        self.open = True
        self.dead = False
        self._word: bytes | None = None
        self._answered = self._shut = False

    def lose(self, word: str, *, answered: bool, shut: bool = False) -> None:
        """Lose the next connection whose client sends the word: before the server gets that message or, where it is to
        be answered, after the server has done it and before the client knows. With `shut`, nobody gets in after it."""
        self._answered, self._shut, self._word = answered, shut, word.encode()

    def serve(self, client: socket.socket) -> None:
        # A peer that goes away in the middle is what this is for.
        with contextlib.suppress(OSError), client, socket.create_connection(self._server) as server:
            while self.open:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data or self._is_lost(source is client, data, server):
                        return
                    if self.dead:
                        continue
                    (server if source is client else client).sendall(data)

    def _is_lost(self, from_client: bool, data: bytes, server: socket.socket) -> bool:
        if not from_client or self._word is None or self._word not in data:
            return False
        self._word = None
        self.open = not self._shut
        self.lost += 1
        if self._answered:
            server.sendall(data)
            assert server.recv(65536)
        return True


@contextlib.contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Run a proxy before the server of a URL; its own `url` leads through it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = Proxy(url, listener)

        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                if select.select([listener], [], [], 0.1)[0]:
                    threading.Thread(target=found.serve, args=(listener.accept()[0],), daemon=True).start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield found
        finally:
            done.set()
            accepting.join()
