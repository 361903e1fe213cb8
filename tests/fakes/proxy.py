"""A company's proxy on loopback: whoever asks for ``*.googleapis.com:443`` by CONNECT reaches a practice cloud instead.

It ends the TLS with a certificate of its own (`certificate`, for REQUESTS_CA_BUNDLE), so nothing leaves this computer.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import http.client
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAMES = ("*.googleapis.com", "accounts.google.com")
_OWN_PATH = {"cloudtasks.googleapis.com": "/cloudtasks"}


class Proxy:
    """Attributes:
    login: ``name:password`` that it wants; "" for none.
    refuses: The status that everybody is refused with; 0: nobody is.
    asked: Each ``host:port`` that was asked for, refused ones included.
    """

    def __init__(self, folder: Path, behind: str) -> None:
        self.login, self.refuses = "", 0
        self.asked: list[str] = []
        self.certificate = folder / "proxy.pem"
        self.behind = urlsplit(behind).netloc
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(_certificate(self.certificate))
        self._server = _Server(self)
        self.address = f"127.0.0.1:{self._server.server_port}"

    def url(self, login: str = "") -> str:
        return f"http://{login}@{self.address}" if login else f"http://{self.address}"

    def admits(self, authorization: str) -> int:
        """The status of the answer to CONNECT."""
        wanted = "Basic " + base64.b64encode(self.login.encode()).decode()
        return self.refuses or (407 if self.login and authorization != wanted else 200)

    def encrypted(self, connection: Any) -> Any:
        return self._tls.wrap_socket(connection, server_side=True)

    def __enter__(self) -> Proxy:
        self._serve()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.die()

    def die(self) -> None:
        """In the middle of whatever goes through it."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.hang_up()
            self._server.server_close()

    def come_back(self) -> None:
        """At the same address."""
        self._server = _Server(self, self._server.server_port)
        self._serve()

    def _serve(self) -> None:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="proxy")
        self._thread.start()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, proxy: Proxy, port: int = 0) -> None:
        self.proxy = proxy
        self._open: list[socket.socket] = []
        super().__init__(("127.0.0.1", port), _Outer)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.append(connection.dup())  # the tunnel's TLS takes the first one over
        return connection, address

    def hang_up(self) -> None:
        """On clients that keep their connection, so that no thread waits for them."""
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or does not like the certificate, is no news."""


class _Outer(BaseHTTPRequestHandler):
    server: _Server

    def do_CONNECT(self) -> None:
        proxy = self.server.proxy
        proxy.asked.append(self.path)
        status = proxy.admits(self.headers.get("Proxy-Authorization", ""))
        self.send_response(status)
        self.end_headers()
        self.close_connection = True
        if status == 200:
            inside = proxy.encrypted(self.connection)
            try:
                _Inner(inside, (self.path.partition(":")[0], 443), self.server)
            finally:
                inside.close()

    def log_message(self, format: str, *args: Any) -> None: ...


class _Inner(BaseHTTPRequestHandler):
    """What was sent through the tunnel, sent on to the practice cloud. *client_address* holds the host asked for."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    server: _Server

    def _on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # whoever sent it is gone
            self.close_connection = True
            return
        behind = http.client.HTTPConnection(self.server.proxy.behind, timeout=30)
        path = _OWN_PATH.get(str(self.client_address[0]), "") + self.path
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        behind.request(self.command, path, body, headers)
        reply = behind.getresponse()
        told = reply.read()
        self.send_response_only(reply.status)
        for name, value in reply.getheaders():  # with the practice cloud's own time
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)
        behind.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _on

    def log_message(self, format: str, *args: Any) -> None: ...


def _certificate(file: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "A company's proxy")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in NAMES]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    shape = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, shape, serialization.NoEncryption())
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return file
