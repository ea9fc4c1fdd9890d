"""Who may ask, and what a hostile client can do: little."""

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaffinch.serve.messages import RequestError
from chaffinch.serve.security import Guard
from page.serving import Client, Forked, Process, tagger

TOKEN = "a-secret-token"
HERE = {"host": "127.0.0.1:8000"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tagger(tmp_path_factory.mktemp("models") / "names.chaff")


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    journal = tmp_path_factory.mktemp("journal") / "j"
    with Forked(model, token=TOKEN, max_body=10_000, journal=journal) as made:
        yield made


def allowed(guard: Guard, method: str = "GET", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        guard.check(method, {**HERE, **named})
    except RequestError as e:
        return e.status
    return 200


def test_a_token_is_needed_once_there_is_one() -> None:
    guard = Guard(TOKEN)
    assert allowed(guard) == 401
    assert allowed(guard, x_chaffinch_token=TOKEN[:-1]) == 401
    assert allowed(guard, x_chaffinch_token=TOKEN + " ") == 401
    assert allowed(guard, x_chaffinch_token="ä") == 401
    assert allowed(guard, x_chaffinch_token=TOKEN) == 200
    assert allowed(guard, authorization=f"Bearer {TOKEN}") == 200
    assert allowed(guard, authorization="Basic dTphLXNlY3JldC10b2tlbg==") == 200
    assert allowed(guard, authorization="Basic !!") == 401


def test_without_a_token_only_loopback_names_are_served() -> None:
    guard = Guard()
    for host in ("localhost", "localhost:8000", "127.0.0.1:80", "[::1]:8000"):
        assert allowed(guard, host=host) == 200, host
    for host in ("evil.example", "evil.example:8000", "", "localhost.evil.example", "10.0.0.1"):
        assert allowed(guard, host=host) == 403, host


def test_pages_of_other_origins_are_refused() -> None:
    assert allowed(Guard(), origin="http://127.0.0.1:8000") == 200
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1:9000",
        "https://127.0.0.1:8000.evil.example",
    ):
        assert allowed(Guard(), origin=origin) == 403, origin


def test_forms_of_other_pages_cannot_post() -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        assert allowed(Guard(), "POST", content_type=kind) == 415, kind
    assert allowed(Guard(), "POST", content_type="application/json; charset=utf-8") == 200


def test_an_address_for_others_gets_a_token_that_is_printed_once(model: Path, tmp_path: Path) -> None:
    with Process(model, "--host", "0.0.0.0", "--journal", tmp_path / "j") as server:
        assert len(server.token) >= 32
        assert server.ask("/models")[0] == 401
        assert server.ask("/models", headers={"x-chaffinch-token": server.token})[0] == 200
        assert server.token not in server.stop()


def test_every_answer_has_the_strict_headers(server: Client) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for path in ("/", "/models", "/nowhere", "/page/nothing"):
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers
    connection.close()


def test_no_path_of_the_disk_can_be_reached(server: Client) -> None:
    for path in (
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/%2e%2e/cli/serve.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "a\\..\\b",
        "",
    ):
        assert server.ask(f"/page/{path}")[0] == 404, path
    headers = {"x-chaffinch-token": TOKEN}
    for query in ("data=../../etc/passwd", "format=../x", "model=/etc/passwd"):
        assert server.ask(f"/export?{query}", headers=headers)[0] in (400, 404), query


def raw_request(body: bytes, path: str = "/predict", version: str = "1.1", **further: str) -> bytes:
    headers = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "x-chaffinch-token": TOKEN,
        "content-length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in further.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/{version}\r\n{lines}\r\n".encode() + body


def raw_answers(server: Client, pieces: list[bytes], count: int = 1) -> list[tuple[int, bytes]]:
    """Send pieces one by one on a connection, and read this many answers."""
    found: list[tuple[int, bytes]] = []
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
            time.sleep(0.05 if len(pieces) > 1 else 0)
        with client.makefile("rb") as lines:
            while len(found) < count:
                status = int(lines.readline().split()[1])
                size = 0
                while (line := lines.readline()) != b"\r\n":
                    name, _, value = line.partition(b":")
                    size = int(value) if name == b"content-length" else size
                if status != 100:
                    found.append((status, lines.read(size)))
    return found


def test_requests_in_one_piece_and_in_several_are_answered_alike(server: Client) -> None:
    bodies = [
        b'{"text": "Ann lives in Rome"}',
        b'{"texts": ["Bob left Oslo .", "", "Ann"], "kbest": 2}',
        b'{"tokens": ["Ann", "left"], "probabilities": true}',
        b'{"text": "Ann", "probabilities": false}',
        b'{"text": "Ann", "version": "crf-99"}',
        b'{"text": "Ann", "model": "nobody"}',
        b'{"text": "Ann", "kbest": 0}',
        b'{"text": "Ann"',
        b'{"texts": "Ann"}',
        b'{"tokens": [["Ann", "x"]]}',
        b"{}",
        b"",
        b'{"text": "Ann", "rules": {"once": ["PER"]}}',
    ]
    for body in bodies:
        whole = raw_request(body)
        (expected,) = raw_answers(server, [whole])
        for pieces in (
            [whole[:20], whole[20:]],
            [whole[: len(whole) - len(body)], body],
            [whole[:-3], whole[-3:]],
            [raw_request(body, connection="close")],
            [raw_request(body, version="1.0")],
            [raw_request(body, expect="100-continue")],
        ):
            assert raw_answers(server, pieces) == [expected], body
    assert [raw_answers(server, [raw_request(body)])[0][0] for body in bodies] == [200] * 4 + [
        404, 404, 400, 400, 400, 400, 400, 400, 200,
    ]  # fmt: skip


def test_requests_without_the_right_headers_are_refused_on_a_connection_that_was_admitted(
    server: Client,
) -> None:
    body = b'{"text": "Ann"}'
    given = [
        raw_request(body),
        raw_request(body, x_chaffinch_token="wrong"),
        raw_request(body, content_type="text/plain"),
        raw_request(body, origin="http://evil.example"),
        raw_request(body),
    ]
    found = raw_answers(server, given, len(given))
    assert [status for status, _ in found] == [200, 401, 415, 403, 200]


def test_requests_that_come_together_are_answered_in_order(server: Client) -> None:
    texts = ["Ann", "Bob lives in Rome", "x", "Ann lives", "Oslo is cold"]
    asked = [raw_request(f'{{"text": "{text}"}}'.encode()) for text in texts]
    asked.insert(2, raw_request(b'{"text": "Ann"}', path="/explain"))
    asked.insert(4, raw_request(b"nonsense"))
    found = raw_answers(server, [b"".join(asked)], len(asked))
    alone = [raw_answers(server, [one])[0] for one in asked]
    assert found == alone
    assert [status for status, _ in found] == [200, 200, 200, 200, 400, 200, 200]


def test_a_client_that_goes_away_before_its_answer_disturbs_nobody(server: Client) -> None:
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(raw_request(b'{"text": "Ann lives in Rome"}'))
    assert raw_answers(server, [raw_request(b'{"text": "Ann"}')])[0][0] == 200


def test_an_answer_is_written_at_once() -> None:
    from chaffinch.serve.exchange import Exchange

    class Connection:
        written: list[bytes]

        def __init__(self) -> None:
            self.transport, self.written, self.done = self, [], 0

        def is_closing(self) -> bool:
            return False

        def write(self, content: bytes) -> None:
            self.written.append(content)

        def on_response_complete(self) -> None:
            self.done += 1

    connection = Connection()
    exchange = Exchange(connection)
    exchange.finish = lambda found: (200, b"[%d]" % found)
    exchange.set_result(7)  # type: ignore[arg-type]
    (written,) = connection.written
    head, _, body = written.partition(b"\r\n\r\n")
    assert (body, connection.done) == (b"[7]", 1)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-security-policy: default-src 'none'" in head
    assert head.endswith(b"content-length: 3")


def test_an_oversized_body_is_refused_before_it_is_read(server: Client) -> None:
    headers = {"x-chaffinch-token": TOKEN}
    status, answer = server.ask("/predict", b'{"text": "' + b"a" * 20_000 + b'"}', headers=headers)
    assert status == 413
    assert "10,000" in answer["error"]
    with raw(server) as s:
        s.sendall(
            b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\nx-chaffinch-token: "
            + TOKEN.encode()
            + b"\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(OSError):
            for _ in range(40):
                s.sendall(b"400\r\n" + b"a" * 1024 + b"\r\n")
        assert b" 413 " in s.recv(1000)


@contextlib.contextmanager
def raw(server: Client) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as made:
        yield made


def answers(server: Client) -> float:
    """Seconds to an answer."""
    start = time.perf_counter()
    assert server.ask("/predict", {"text": "Ann left Rome"}, headers={"x-chaffinch-token": TOKEN})[0] == 200
    return time.perf_counter() - start


def test_broken_requests_disturb_nobody(server: Client) -> None:
    for sent in (
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 100,
        b"A" * 100_000,
    ):
        with raw(server) as s, contextlib.suppress(OSError):
            s.sendall(sent)
            s.settimeout(0.2)
            s.recv(100)
    assert answers(server) < 5


def test_half_closed_sockets_are_closed(server: Client) -> None:
    made = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    for s in made:
        s.sendall(b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-le")
        s.shutdown(socket.SHUT_WR)
    for s in made:
        s.settimeout(20)
        assert s.recv(100) == b""
        s.close()
    assert answers(server) < 5


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: ",
        b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n",
    ],
    ids=["silent", "slow headers", "slow body"],
)
def test_slow_clients_are_cut_off_and_others_answered(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr("chaffinch.serve.exchange.HEADERS_WITHIN", 1.0)
    monkeypatch.setattr("chaffinch.serve.endpoint.BODY_WITHIN", 1.0)
    with Forked(model, journal=tmp_path / "j") as server, raw(server) as slow:
        start, answer = time.perf_counter(), None
        slow.sendall(begun)
        slow.settimeout(0.2)
        while answer is None and time.perf_counter() - start < 30:
            assert answers(server) < 5
            try:
                if begun:
                    slow.sendall(b"a")
                answer = slow.recv(1000)
            except TimeoutError:
                pass
            except OSError:
                answer = b""
        assert time.perf_counter() - start > 0.9
        assert answer == b"" or b" 408 " in (answer or b"")


def test_idle_connections_are_bounded_and_new_clients_are_answered(server: Client) -> None:
    """Beyond a thousand connections, the one that was idle longest makes room."""
    made = []
    try:
        for _ in range(1_300):
            made.append(socket.create_connection(("127.0.0.1", server.port)))
        assert answers(server) < 10
        headers = {"x-chaffinch-token": TOKEN}
        _, told = server.ask("/metrics", headers=headers)
        values = dict(
            line.split() for line in told.decode().splitlines() if line.startswith("chaffinch_connections")
        )
        assert float(values["chaffinch_connections"]) <= 1_000
    finally:
        for s in made:
            s.close()
