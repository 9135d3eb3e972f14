"""Every peer gets every file byte for byte, over every version of HTTP, whole and in parts."""

import asyncio
import unittest

import curl
import http3
from cases import CMCD_FIELDS, CMCD_QUERY, REFUSED, WHOLE, Answer, Asked, ranges
from server import CHUNKS, Server


def setUpModule():
    global server
    server = Server()
    unittest.addModuleCleanup(server.stop)


class OverHttp1(unittest.TestCase):
    """curl, which asks one by one over one connection: what a wrong length leaves behind spoils the
    next answer."""

    VERSION = "1.1"

    def ask_all(self, all_asked: list[Asked]) -> list[Answer]:
        answers, connections = curl.ask_all(server, self.VERSION, all_asked)
        self.assertEqual(connections, 1)
        return answers

    def test_whole_files(self):
        for (name, data), answer in self._of_all_files():
            with self.subTest(name):
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.fields["content-length"], str(len(data)))
                self.assertEqual(answer.fields["content-type"], "video/iso.segment")
                self._same(answer.body, data)

    def test_heads_are_those_of_the_whole(self):
        heads = self._of_all_files(method="HEAD")
        for (head, (_, whole)) in zip(heads, self._of_all_files()):
            (name, _), head = head
            with self.subTest(name):
                self.assertEqual((head.status, head.body), (200, b""))
                self.assertEqual(self._lasting(head), self._lasting(whole))

    def test_ranges(self):
        cases = [(name, data, *r) for name, data in CHUNKS.items() for r in ranges(len(data))]
        answers = self.ask_all([Asked(name, fields={"Range": text}) for name, _, text, _ in cases])
        for (name, data, text, want), answer in zip(cases, answers, strict=True):
            with self.subTest(name, range=text):
                extent = answer.fields.get("content-range")
                if want == REFUSED:
                    self.assertEqual(answer.status, 416)
                    self.assertEqual((extent, answer.body), (f"bytes */{len(data)}", b""))
                elif want == WHOLE:
                    self.assertEqual((answer.status, extent), (200, None))
                    self._same(answer.body, data)
                else:
                    first, last = want
                    self.assertEqual(answer.status, 206)
                    self.assertEqual(extent, f"bytes {first}-{last}/{len(data)}")
                    self.assertEqual(answer.fields["content-length"], str(last - first + 1))
                    self._same(answer.body, data[first : last + 1])

    def test_what_the_client_has_is_not_sent_again(self):
        for (name, data), whole in self._of_all_files():
            tag, changed = whole.fields["etag"], whole.fields["last-modified"]
            same, dated, other, part, stale = self.ask_all(
                [
                    Asked(name, fields={"If-None-Match": f'"x", W/{tag}'}),
                    Asked(name, fields={"If-Modified-Since": changed}),
                    Asked(name, fields={"If-None-Match": '"x"'}),
                    Asked(name, fields={"If-Range": tag, "Range": "bytes=0-0"}),
                    Asked(name, fields={"If-Range": '"x"', "Range": "bytes=0-0"}),
                ]
            )
            with self.subTest(name):
                for kept in (same, dated):
                    self.assertEqual((kept.status, kept.body), (304, b""))
                    self.assertEqual(kept.fields["etag"], tag)
                self.assertEqual(other.status, 200)
                self._same(other.body, data)
                self.assertEqual(part.status, 206 if data else 416)
                self._same(part.body, data[:1])
                self.assertEqual(stale.status, 200)
                self._same(stale.body, data)

    def test_what_players_say_changes_no_byte(self):
        plain = self._of_all_files()
        queried = self._of_all_files(query=CMCD_QUERY)
        in_fields = self._of_all_files(fields=CMCD_FIELDS)
        for ((name, data), whole), *told in zip(plain, queried, in_fields):
            for _, answer in told:
                with self.subTest(name):
                    self.assertEqual(self._lasting(answer), self._lasting(whole))
                    self._same(answer.body, data)

    def test_what_is_not_there(self):
        (answer,) = self.ask_all([Asked("film/v3/none.m4s")])
        self.assertEqual(answer.status, 404)

    def _of_all_files(self, **how):
        """Each file with the answer to a request for it."""
        answers = self.ask_all([Asked(name, **how) for name in CHUNKS])
        return list(zip(CHUNKS.items(), answers, strict=True))

    def _same(self, got: bytes, want: bytes):
        # Not assertEqual: nobody reads a difference of megabytes.
        self.assertTrue(got == want, f"{len(got)} bytes came, {len(want)} were due, or others")

    @staticmethod
    def _lasting(answer: Answer) -> dict[str, str]:
        """The fields that say what the file is."""
        names = ("accept-ranges", "cache-control", "content-length", "content-type", "etag")
        return {n: answer.fields.get(n) for n in (*names, "last-modified")}


class OverHttp2(OverHttp1):
    """curl."""

    VERSION = "2"

    def test_many_at_once(self):
        asked = [Asked(name) for name in CHUNKS] * 4
        answers, connections = curl.ask_all(server, self.VERSION, asked, at_once=True)
        self.assertEqual(connections, 1)
        for one, answer in zip(asked, answers, strict=True):
            self._same(answer.body, CHUNKS[one.name])


class OverHttp3(OverHttp1):
    """aioquic."""

    def ask_all(self, all_asked: list[Asked]) -> list[Answer]:
        async def one_by_one():
            async with http3.client(server) as client:
                return [await client.ask(asked) for asked in all_asked]

        return asyncio.run(one_by_one())

    def test_many_at_once(self):
        asked = [Asked(name) for name in CHUNKS] * 4

        async def at_once():
            async with http3.client(server) as client:
                return await asyncio.gather(*[client.ask(one) for one in asked])

        for one, answer in zip(asked, asyncio.run(at_once()), strict=True):
            self._same(answer.body, CHUNKS[one.name])

    def test_says_of_files_what_tcp_says(self):
        over_tcp, _ = curl.ask_all(server, "2", [Asked(name) for name in CHUNKS])
        for tcp, ((name, _), quic) in zip(over_tcp, self._of_all_files(), strict=True):
            with self.subTest(name):
                self.assertEqual(self._lasting(tcp), self._lasting(quic))
                self.assertEqual(tcp.fields.keys(), quic.fields.keys())


if __name__ == "__main__":
    unittest.main()
