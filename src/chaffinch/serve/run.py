"""Start the server and let it run until it is stopped."""

import errno
import gc
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaffinch.errors import ChaffinchError, ConfigError, missing_extra
from chaffinch.serve.app import application
from chaffinch.serve.connections import Connections
from chaffinch.serve.exchange import Quick, bounded_protocol
from chaffinch.serve.journal import Journal
from chaffinch.serve.reload import answer_once
from chaffinch.serve.security import is_loopback, new_token
from chaffinch.serve.served import served_models
from chaffinch.serve.server import IDLE_BEFORE_RETRAINING, MAX_BODY, MOST_CONNECTIONS, Server

KEEP_ALIVE = 15  # seconds that an idle connection is kept after an answer
BACKLOG = 1024  # connections that wait to be accepted
SPARE_FILES = 100  # descriptors for everything else


@dataclass(frozen=True, kw_only=True)
class Options:
    """The arguments of ``chaffinch serve``."""

    models: list[Path]
    data: list[Path]
    train: list[str]
    told: Mapping[str, str] = field(default_factory=dict)  # options of the readers of files
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    journal: Path | None = None
    max_body: int = MAX_BODY
    retrain_after: float = IDLE_BEFORE_RETRAINING


def made(options: Options) -> Server:
    """The server, with its models loaded and its journal open."""
    if not options.models:
        raise ConfigError("expected at least one model to serve")
    if options.token is not None and len(options.token) < 8:
        raise ConfigError("the token must have at least 8 characters; leave it out to have one generated")
    first = options.models[0]
    journal = Journal(options.journal or first.with_name(first.name + ".corrections.jsonl"))
    models = served_models(options.models, options.data, options.train, journal.entries, options.told)
    token = options.token
    if token is None and not is_loopback(options.host):
        token = new_token()
    return Server(
        models, journal, token=token, max_body=options.max_body, retrain_after=options.retrain_after
    )


def run(options: Options, told: Callable[[str], object]) -> None:
    """Serve until a signal arrives; told: called with the address, and the token if there is one."""
    try:
        import uvicorn
    except ImportError:
        raise missing_extra("serve", "uvicorn") from None
    server = made(options)
    server.connections = Connections(_most_connections())
    bound = _bound(options.host, options.port)
    logging.getLogger("chaffinch.serve").addHandler(logging.StreamHandler())
    logging.getLogger("chaffinch.serve").setLevel(logging.INFO)
    config = uvicorn.Config(
        application(server),
        http=bounded_protocol(server.connections, Quick(server)),
        loop="uvloop",
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=5,
        server_header=False,
        date_header=False,
        proxy_headers=False,
    )
    for served in server.models.values():
        with suppress(ChaffinchError):  # the first request will report the error
            answer_once(served, served.active.model)
    gc.collect()
    gc.freeze()  # loaded objects stay: a full garbage collection over them would delay every request
    told(address(options.host, bound.getsockname()[1], server.guard.token))
    uvicorn.Server(config).run(sockets=[bound])


def _most_connections() -> int:
    """The number of connections that the system's limits allow, at most MOST_CONNECTIONS."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return MOST_CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(16, min(MOST_CONNECTIONS, files - SPARE_FILES))


def address(host: str, port: int, token: str | None) -> str:
    """The address of the page.

    >>> address("::1", 8000, None), address("0.0.0.0", 80, "secret")
    ('http://[::1]:8000/', 'http://0.0.0.0:80/#token=secret')
    """
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{port}/" + (f"#token={token}" if token else "")


def _bound(host: str, port: int) -> socket.socket:
    """A listening socket: a port in use is reported at once, and port 0 means any free one."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(kind, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(BACKLOG)
    except OSError as e:
        made.close()
        which = "--port" if e.errno == errno.EADDRINUSE else "--host or --port"
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {e.strerror}; choose another with {which}"
        ) from None
    return made
