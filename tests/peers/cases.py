"""What is asked of the server, and what RFC 9110 says of the answers."""

from dataclasses import dataclass, field
from urllib.parse import quote


@dataclass(frozen=True)
class Asked:
    """A request for a file."""

    name: str
    method: str = "GET"
    fields: dict[str, str] = field(default_factory=dict)
    query: str = ""

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        return "/" + quote(self.name) + (f"?{self.query}" if self.query else "")


@dataclass(frozen=True)
class Answer:
    """What came back. Names of fields are in small letters."""

    status: int
    fields: dict[str, str]
    body: bytes


#: Refused: no byte of the range is there.
REFUSED = "refused"
#: The whole is a right answer to what is no range, or several.
WHOLE = "whole"


def ranges(size: int) -> list[tuple[str, str | tuple[int, int]]]:
    """Ranges to ask of a file of this size, and first and last byte of what must come."""
    middle = size // 2
    cases = [
        (f"bytes={size}-", REFUSED),
        (f"bytes={size + 10}-{size + 20}", REFUSED),
        ("bytes=-0", REFUSED),
        ("bytes=0-0,2-3", WHOLE),
        ("bytes=5-4", WHOLE),
        ("chunks=0-1", WHOLE),
    ]
    if size == 0:
        return [*cases, ("bytes=0-0", REFUSED)]
    return [
        *cases,
        ("bytes=0-0", (0, 0)),
        ("bytes=0-999", (0, min(999, size - 1))),
        (f"bytes={middle}-{middle}", (middle, middle)),
        (f"bytes={middle // 2}-{middle}", (middle // 2, middle)),
        (f"bytes={middle}-", (middle, size - 1)),
        ("bytes=-1", (size - 1, size - 1)),
        (f"bytes=-{middle + 1}", (size - middle - 1, size - 1)),
        (f"bytes=-{size + 1}", (0, size - 1)),
        (f"bytes=0-{size - 1}", (0, size - 1)),
        (f"bytes={size - 1}-{size + 100}", (size - 1, size - 1)),
        (f"bytes=0-{2**63}", (0, size - 1)),
    ]


#: What a player says of itself, in the query and in fields: nothing of it changes a byte.
CMCD_QUERY = "CMCD=bl%3D12000%2Cbr%3D3000%2Cd%3D4000%2Cot%3Dv%2Csf%3Dd%2Csid%3D%22peer-1%22%2Cst%3Dv"
CMCD_FIELDS = {
    "CMCD-Object": "br=3000,d=4000,ot=v",
    "CMCD-Request": "bl=12000",
    "CMCD-Session": 'sf=d,sid="peer-2",st=v',
    "CMCD-Status": "bs",
}
