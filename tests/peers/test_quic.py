"""What QUIC allows peers to do beside asking, with aioquic, which shares no code with us."""

import asyncio
import os
import unittest

import http3
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import CipherSuite
from cases import Asked
from http3 import Diary
from server import CHUNKS, LARGE, PATIENCE_S, Server

#: From so many handshakes under way on, the server wants to see that clients receive.
CROWD = 64
#: Requests on one connection, each with a PRIORITY_UPDATE; AIRLANE_PEER_REQUESTS says how many. With
#: 200 000 aioquic is busy for minutes.
MANY = int(os.environ.get("AIRLANE_PEER_REQUESTS", "20000"))
#: How many of them at one time: the server takes 100.
AT_ONCE = 90


class Quic(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)

    async def asyncSetUp(self):
        # unittest has asyncio say what took long; here that says how busy the machine is.
        asyncio.get_running_loop().set_debug(False)

    async def test_a_client_comes_in_at_once_where_few_do(self):
        diary = Diary()
        async with http3.client(self.server, diary) as client:
            await self._asks_for_everything(client)
        self.assertEqual(diary.packets("retry"), 0)

    async def test_a_client_shows_that_it_receives_where_many_come(self):
        # A server of its own: the others need not wait in this crowd.
        server = Server()
        self.addCleanup(server.stop)
        http3.knock(server, CROWD)
        diary = Diary()
        async with http3.client(server, diary) as client:
            await self._asks_for_everything(client)
        self.assertEqual(diary.packets("retry"), 1)

    async def test_keys_change_while_a_file_is_sent(self):
        diary = Diary()
        async with http3.client(self.server, diary) as client:
            for _ in range(3):
                exchange = client.begin(Asked(LARGE))
                await asyncio.wait_for(exchange.begun.wait(), PATIENCE_S)
                self.assertFalse(exchange.done.done())
                client.update_keys()
                self._is_whole(LARGE, await exchange.answer())
        changes = diary.all("security:key_updated")
        ours = [c for c in changes if c["trigger"] == "local_update"]
        # A pair of keys each time.
        self.assertEqual(len(ours), 2 * 3, changes)

    async def test_a_client_moves_while_a_file_is_sent(self):
        for with_a_new_id in (False, True):
            with self.subTest(with_a_new_id=with_a_new_id):
                diary = Diary()
                async with http3.client(self.server, diary) as client:
                    exchange = client.begin(Asked(LARGE))
                    await asyncio.wait_for(exchange.begun.wait(), PATIENCE_S)
                    self.assertFalse(exchange.done.done())
                    before = client.port
                    await client.move()
                    self.assertNotEqual(client.port, before)
                    if with_a_new_id:
                        client.change_connection_id()
                    self._is_whole(LARGE, await exchange.answer())
                    await self._asks_for_everything(client)
                # The server has seen that somebody sends from elsewhere, and has asked there.
                self.assertGreater(diary.frames("path_challenge"), 0)

    async def test_every_cipher(self):
        for suite in (
            CipherSuite.AES_128_GCM_SHA256,
            CipherSuite.AES_256_GCM_SHA384,
            CipherSuite.CHACHA20_POLY1305_SHA256,
        ):
            with self.subTest(suite=suite.name):
                async with http3.client(self.server, cipher_suites=[suite]) as client:
                    self._is_whole(LARGE, await client.ask(Asked(LARGE)))

    async def test_a_client_of_another_version_is_told_which_there_are(self):
        diary = Diary()
        newer = QuicProtocolVersion.VERSION_2
        async with http3.client(self.server, diary, original_version=newer) as client:
            await self._asks_for_everything(client)
        self.assertEqual(diary.packets("version_negotiation"), 1)

    async def test_one_who_gives_up_an_answer_gets_the_next(self):
        async with http3.client(self.server) as client:
            for _ in range(3):
                exchange = client.begin(Asked(LARGE))
                await asyncio.wait_for(exchange.begun.wait(), PATIENCE_S)
                client.give_up(exchange)
                # With the client's own code (RFC 9000, section 3.5): H3_REQUEST_CANCELLED.
                with self.assertRaisesRegex(ConnectionError, "^reset with code 0x10c$"):
                    await exchange.answer()
            await self._asks_for_everything(client)

    async def test_malformed_requests_are_errors_of_their_streams(self):
        # RFC 9114, sections 4.1.2, 4.2 and 4.3.
        length, path = (b"content-length", b"5"), (b":path", b"/x")
        malformed = [
            {"more": ((b"connection", b"close"),)},
            {"more": ((b"keep-alive", b"5"),)},
            {"more": ((b"proxy-connection", b"x"),)},
            {"more": ((b"transfer-encoding", b"chunked"),)},
            {"more": ((b"upgrade", b"h2c"),)},
            {"more": ((b"te", b"gzip"),)},
            {"more": ((b"Range", b"bytes=0-1"),)},
            {"more": (path,)},
            {"more": ((b"range", b"bytes=0-1"), path)},
            {"more": ((b":foo", b"x"),)},
            {"more": ((b":status", b"200"),)},
            {"more": ((b"host", b"elsewhere"),)},
            {"more": (length,)},
            {"more": (length, (b"content-length", b"7")), "body": b"12345"},
            {"more": (length,), "body": b"1234"},
            {"more": (length,), "body": b"123456"},
            {"more": (length,), "body": b"12345", "trailers": (path,)},
            {"more": (length,), "body": b"1234", "trailers": ((b"x", b"y"),)},
        ]
        async with http3.client(self.server) as client:
            for case in malformed:
                for method in ("GET", "POST"):
                    with self.subTest(method=method, **case):
                        exchange = client.begin(Asked(LARGE, method), **case)
                        # H3_MESSAGE_ERROR.
                        with self.assertRaisesRegex(ConnectionError, "^reset with code 0x10e$"):
                            await exchange.answer()
            fields = (length, (b"te", b"trailers"))
            well_formed = client.begin(Asked(LARGE), more=fields, body=b"12345")
            self._is_whole(LARGE, await well_formed.answer())
            await self._asks_for_everything(client)

    async def test_priorities_are_read_for_as_long_as_a_connection_is_used(self):
        # Who stops reading PRIORITY_UPDATE, or gives no more window for it, has the client wait for
        # ever: 128 KiB of window hold some 11 600 of them.
        server = Server("--request-rate", "1000000")
        self.addCleanup(server.stop)
        small = "one byte.m4s"
        async with http3.client(server) as client:
            for first in range(0, MANY, AT_ONCE):
                exchanges = [
                    client.begin(Asked(small), priority=f"u={number % 8}, i")
                    for number in range(first, min(first + AT_ONCE, MANY))
                ]
                async with asyncio.timeout(PATIENCE_S):
                    await asyncio.gather(*[exchange.done for exchange in exchanges])
                for exchange in exchanges:
                    self.assertEqual(exchange.body, CHUNKS[small])
                    client.forget(exchange)

    async def test_a_server_that_stops_says_so_and_answers_what_was_asked(self):
        # On a busy machine 20 MB may take more than the usual 10 s.
        server = Server("--drain", str(PATIENCE_S))
        stopping = None
        async with http3.client(server) as client:
            exchanges = [client.begin(Asked(LARGE)) for _ in range(3)]
            for exchange in exchanges:
                await asyncio.wait_for(exchange.begun.wait(), PATIENCE_S)
            self.assertFalse(any(exchange.done.done() for exchange in exchanges))
            self.assertEqual(client.goaways(), [])
            stopping = asyncio.create_task(asyncio.to_thread(server.stop))
            exchanges.append(client.begin(Asked(LARGE)))
            for exchange in exchanges:
                self._is_whole(LARGE, await exchange.answer())
            # The same or fewer each time, and none of those that were asked for.
            told = client.goaways()
            self.assertTrue(told)
            self.assertEqual(told, sorted(told, reverse=True))
            self.assertGreater(told[-1], exchanges[-1].stream)
        await stopping

    async def _asks_for_everything(self, client: http3.Client):
        answers = await asyncio.gather(*[client.ask(Asked(name)) for name in CHUNKS])
        for name, answer in zip(CHUNKS, answers, strict=True):
            self._is_whole(name, answer)

    def _is_whole(self, name: str, answer):
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.body == CHUNKS[name], f"{name}: {len(answer.body)} bytes, or others")


if __name__ == "__main__":
    unittest.main()
