"""aioquic as a peer: HTTP/3 over QUIC."""

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.buffer import Buffer, encode_uint_var
from aioquic.h3.connection import (
    H3_ALPN,
    ErrorCode,
    FrameType,
    H3Connection,
    StreamType,
    encode_frame,
)
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, StreamReset
from aioquic.quic.logger import QuicLogger

from cases import Answer, Asked
from server import HOST, PATIENCE_S, Server


@dataclass
class Exchange:
    """A request on its way."""

    stream: int
    fields: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    #: Set when the first byte of the body is there.
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Future = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def answer(self) -> Answer:
        """Waits for the whole. ConnectionError if it does not come."""
        await asyncio.wait_for(self.done, PATIENCE_S)
        fields = {name.decode(): value.decode() for name, value in self.fields}
        return Answer(int(fields.pop(":status")), fields, bytes(self.body))


#: PRIORITY_UPDATE for requests (RFC 9218, section 7.2).
PRIORITY_UPDATE = 0xF0700


class Http(H3Connection):
    """What aioquic leaves out. It takes the length in an answer to HEAD for that of what follows; it
    is that of the answer to GET (RFC 9110, section 8.6). It knows no priorities, and skips GOAWAY."""

    def __init__(self, quic: QuicConnection):
        super().__init__(quic)
        self.without_body: set[int] = set()
        #: What came on the server's control stream.
        self._control = bytearray()

    def prioritize(self, stream: int, priority: str):
        """Sends a PRIORITY_UPDATE for a request."""
        update = encode_frame(PRIORITY_UPDATE, encode_uint_var(stream) + priority.encode())
        self._quic.send_stream_data(self._local_control_stream_id, update)

    def goaways(self) -> list[int]:
        """The requests from which on the server takes none, as each of its GOAWAYs has it (RFC 9114,
        section 7.2.6)."""
        told, control = [], Buffer(data=bytes(self._control))
        if not control.eof():
            control.pull_uint_var()
        while not control.eof():
            kind, length = control.pull_uint_var(), control.pull_uint_var()
            payload = Buffer(data=control.pull_bytes(length))
            if kind == FrameType.GOAWAY:
                told.append(payload.pull_uint_var())
        return told

    def _receive_stream_data_uni(self, stream, data, stream_ended):
        events = super()._receive_stream_data_uni(stream, data, stream_ended)
        if stream.stream_type == StreamType.CONTROL:
            self._control += data
        return events

    def _check_content_length(self, stream):
        if stream.stream_id in self.without_body:
            stream.expected_content_length = 0
        super()._check_content_length(stream)


class Client(QuicConnectionProtocol):
    """A connection to the server."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._http = Http(self._quic)
        self._exchanges: dict[int, Exchange] = {}

    def begin(
        self,
        asked: Asked,
        priority: str | None = None,
        more: tuple[tuple[bytes, bytes], ...] = (),
        body: bytes | None = None,
        trailers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> Exchange:
        """Sends a request, and ahead of it a PRIORITY_UPDATE with this priority.

        `more` are fields behind the others, whatever they are."""
        stream = self._quic.get_next_available_stream_id()
        if priority is not None:
            self._http.prioritize(stream, priority)
        fields = {
            ":method": asked.method,
            ":scheme": "https",
            ":authority": f"{HOST}:{self._quic.get_peer_address()[1]}",
            ":path": asked.target,
            **{name.lower(): value for name, value in asked.fields.items()},
        }
        exchange = self._exchanges[stream] = Exchange(stream)
        if asked.method == "HEAD":
            self._http.without_body.add(stream)
        head = [(name.encode(), value.encode()) for name, value in fields.items()]
        ends = body is None and not trailers
        self._http.send_headers(stream, head + list(more), end_stream=ends)
        if body is not None:
            self._http.send_data(stream, body, end_stream=not trailers)
        if trailers:
            self._http.send_headers(stream, list(trailers), end_stream=True)
        self.transmit()
        return exchange

    async def ask(self, asked: Asked) -> Answer:
        """Sends a request and waits for the whole answer."""
        return await self.begin(asked).answer()

    def forget(self, exchange: Exchange):
        """Lets go of an exchange that is over: a connection may have very many."""
        del self._exchanges[exchange.stream]

    def goaways(self) -> list[int]:
        """The requests from which on the server takes none, as often as it said so."""
        return self._http.goaways()

    def give_up(self, exchange: Exchange):
        """Wants no more of the answer."""
        self._quic.stop_stream(exchange.stream, ErrorCode.H3_REQUEST_CANCELLED)
        self.transmit()

    def update_keys(self):
        """Goes on with the next keys (RFC 9001, section 6)."""
        self._quic.request_key_update()
        self.transmit()

    async def move(self):
        """Goes on from another port; the old one is no longer there.

        It says so with a PING: one that has nothing to acknowledge would stay silent otherwise, and
        the server would send to the old port until both give up."""
        left = self._transport
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, local_addr=("::", 0))
        left.close()
        self._quic.send_ping(id(left))
        self.transmit()

    async def leave(self):
        """Says goodbye, from wherever it is: aioquic's `connect` knows the first port alone."""
        self.close()
        await self.wait_closed()
        self._transport.close()

    @property
    def port(self) -> int:
        """Where it sends from."""
        return self._transport.get_extra_info("sockname")[1]

    def quic_event_received(self, event):
        match event:
            case StreamReset(stream_id=stream, error_code=code) if stream in self._exchanges:
                self._fail(self._exchanges[stream], f"reset with code {code:#x}")
            case ConnectionTerminated(error_code=code, reason_phrase=why):
                for exchange in self._exchanges.values():
                    self._fail(exchange, f"connection closed with code {code:#x}: {why}")
        for told in self._http.handle_event(event):
            exchange = self._exchanges.get(told.stream_id)
            if isinstance(told, HeadersReceived):
                exchange.fields += told.headers
            elif isinstance(told, DataReceived):
                exchange.body += told.data
                if told.data:
                    exchange.begun.set()
            if told.stream_ended and not exchange.done.done():
                exchange.done.set_result(None)

    @staticmethod
    def _fail(exchange: Exchange, why: str):
        if not exchange.done.done():
            exchange.done.set_exception(ConnectionError(why))


class Diary:
    """What a connection went through, as aioquic's qlog has it."""

    def __init__(self):
        self.logger = QuicLogger()

    def all(self, name: str) -> list[dict]:
        """The data of all events of this name."""
        traces = self.logger.to_dict()["traces"]
        return [e["data"] for t in traces for e in t["events"] if e["name"] == name]

    def packets(self, kind: str) -> int:
        """How many packets of this kind came."""
        received = self.all("transport:packet_received")
        return sum(packet["header"]["packet_type"] == kind for packet in received)

    def frames(self, kind: str) -> int:
        """How many frames of this kind came."""
        received = self.all("transport:packet_received")
        return sum(f["frame_type"] == kind for packet in received for f in packet["frames"])


def configuration(server: Server, **more) -> QuicConfiguration:
    """A client's, which trusts the server's certificate and no other."""
    made = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=HOST, **more)
    made.load_verify_locations(cafile=str(server.certificate))
    return made


@asynccontextmanager
async def client(server: Server, diary: Diary | None = None, **more):
    """A connection to the server, whose handshake is done."""
    how = configuration(server, quic_logger=diary and diary.logger, **more)
    made = connect(
        HOST,
        server.port,
        configuration=how,
        create_protocol=Client,
        wait_connected=False,
    )
    async with made as connection:
        connection.transmit()
        await asyncio.wait_for(connection.wait_connected(), PATIENCE_S)
        try:
            yield connection
        finally:
            await connection.leave()


def knock(server: Server, times: int):
    """Begins handshakes and leaves them there. Whatever connects afterwards comes after them: the
    server has one queue of datagrams."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for _ in range(times):
            begun = QuicConnection(configuration=configuration(server))
            begun.connect((HOST, server.port), now=0.0)
            for datagram, to in begun.datagrams_to_send(now=0.0):
                out.sendto(datagram, to)
