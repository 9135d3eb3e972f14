"""The command ``python -m airlane``: sweeps and claims on a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__
from ._toml import Words
from .errors import ClusterError, Fault, InputError
from .sweeps import SweepResult, sweep
from .verdicts import ClaimResult, reproduce


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    given = _parser().parse_args(arguments)
    try:
        result = _sweep(given) if given.verb == "sweep" else _reproduce(given)
    except InputError as error:
        print(f"airlane: {error}", file=sys.stderr)
        return 2
    except ClusterError as error:
        print(f"airlane: {error}", file=sys.stderr)
        return 1
    except Fault as error:
        print(f"airlane: {error}", file=sys.stderr)
        return 70
    except KeyboardInterrupt:
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130
    print(result)
    return 1 if result.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m airlane", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    of = verbs.add_parser("sweep", help="run a scenario under every combination of some values")
    of.add_argument("scenario", help="a scenario, or the name of a built-in one")
    of.add_argument("--grid", action="append", default=[], metavar="KEY=V1,V2")
    of.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    of.add_argument("--seeds", metavar="N", type=int, help="seeds 1 to N")
    _add_common(of)
    of = verbs.add_parser("reproduce", help="measure a paper's claims and judge them")
    of.add_argument("system", help="minerva, octopus, cupid, plum, fbdt or all")
    of.add_argument("--only", action="append", default=[], metavar="ID", help="these claims")
    of.add_argument("--quick", action="store_true", help="look around: fewer draws, no verdicts")
    of.add_argument("--content", metavar="DIR", help="videos in the place of the built-in ones")
    _add_common(of)
    return parser


def _add_common(of: argparse.ArgumentParser) -> None:
    of.add_argument("--ray", metavar="ADDRESS", help="local, auto or ray://HOST:10001")
    of.add_argument("--out", default="out", metavar="DIR", help="folder for the results")
    of.add_argument("--jobs", type=int, metavar="N", help="worlds at once")
    of.add_argument("--fresh", action="store_true", help="run everything anew")
    of.add_argument("--quiet", action="store_true", help="print no progress")


def _sweep(given: argparse.Namespace) -> SweepResult:
    return sweep(
        given.scenario,
        grid={key: [values] for key, values in map(_split, given.grid)},
        set=dict(_split(one) for one in given.set),
        seeds=range(1, given.seeds + 1) if given.seeds else None,
        on=given.ray,
        out=given.out,
        jobs=given.jobs,
        fresh=given.fresh,
        progress=False if given.quiet else None,
    )


def _reproduce(given: argparse.Namespace) -> ClaimResult:
    return reproduce(
        given.system,
        only=given.only,
        quick=given.quick,
        content=given.content,
        on=given.ray,
        out=given.out,
        jobs=given.jobs,
        fresh=given.fresh,
        progress=False if given.quiet else None,
    )


def _split(word: str) -> tuple[str, Words]:
    key, found, value = word.partition("=")
    if not found:
        raise InputError.of("no value", "expected KEY=VALUE, such as link.rate_bps=4e6", key)
    return key, Words(value)


if __name__ == "__main__":
    sys.exit(main())
