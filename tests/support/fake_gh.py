"""A `gh` whose repository is a JSON file (FAKE_GH): the commands that `announce` uses, as strict as the real one.

FAKE_GH_FAILS names one, "issue comment", that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

MOST_CHARACTERS = 65_536


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(allow_abbrev=False)
    kinds = top.add_subparsers(dest="kind", required=True)
    issue = kinds.add_parser("issue").add_subparsers(dest="verb", required=True)
    listing = issue.add_parser("list", allow_abbrev=False)
    listing.add_argument("--label", required=True)
    listing.add_argument("--state", choices=["open", "closed", "all"], default="open")
    listing.add_argument("--limit", type=int, default=30)
    listing.add_argument("--json", required=True)
    create = issue.add_parser("create", allow_abbrev=False)
    create.add_argument("--title", required=True)
    create.add_argument("--label", required=True)
    create.add_argument("--body-file", choices=["-"], required=True)
    for verb in ("edit", "comment"):
        one = issue.add_parser(verb, allow_abbrev=False)
        one.add_argument("number", type=int)
        one.add_argument("--body-file", choices=["-"], required=True)
    close = issue.add_parser("close", allow_abbrev=False)
    close.add_argument("number", type=int)
    close.add_argument("--reason", choices=["completed", "not planned"], required=True)
    issue.add_parser("reopen", allow_abbrev=False).add_argument("number", type=int)
    label = kinds.add_parser("label").add_subparsers(dest="verb", required=True)
    labels = label.add_parser("list", allow_abbrev=False)
    labels.add_argument("--limit", type=int, default=30)
    labels.add_argument("--json", required=True)
    new = label.add_parser("create", allow_abbrev=False)
    new.add_argument("name")
    new.add_argument("--description", required=True)
    new.add_argument("--color", required=True)
    return top


def main() -> str:
    given = parser().parse_args()
    file = Path(os.environ["FAKE_GH"])
    there = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"labels": [], "issues": []}
    what = f"{given.kind} {given.verb}"
    if os.environ.get("FAKE_GH_FAILS") == what:
        sys.exit("HTTP 403: Resource not accessible by integration\x1b[0m")
    there.setdefault("log", []).append(" ".join(map(str, [what, *filter(None, [getattr(given, "number", None)])])))
    answer = act(there, what, given)
    file.write_text(json.dumps(there), encoding="utf-8")
    return answer


def act(there: dict, what: str, given: argparse.Namespace) -> str:
    if given.kind == "label":
        return label(there, what, given)
    if what == "issue list":
        return listed(there["issues"], given)
    if what == "issue create":
        return create(there, given)
    (one,) = [one for one in there["issues"] if one["number"] == given.number]
    if what == "issue edit":
        one["body"] = text()
    elif what == "issue comment":
        one["comments"].append(text())
    elif what == "issue close":
        one["state"], one["reason"] = "CLOSED", given.reason
    else:
        one["state"], one["reason"] = "OPEN", None
    return ""


def label(there: dict, what: str, given: argparse.Namespace) -> str:
    if what == "label list":
        return json.dumps([{"name": name} for name in there["labels"]])
    if given.name in there["labels"]:
        sys.exit(f"label with name {given.name!r} already exists")
    there["labels"].append(given.name)
    return ""


def listed(issues: list[dict], given: argparse.Namespace) -> str:
    found = [one for one in reversed(issues) if given.label in one["labels"]][: given.limit]
    kept = [one for one in found if given.state in ("all", one["state"].lower())]
    return json.dumps([{name: one[name] for name in given.json.split(",")} for one in kept])


def create(there: dict, given: argparse.Namespace) -> str:
    if given.label not in there["labels"]:
        sys.exit(f"could not add label: {given.label!r} not found")
    if len(given.title) > 256:
        sys.exit("title is too long")
    number = len(there["issues"]) + 1
    one = {"number": number, "title": given.title, "labels": [given.label], "state": "OPEN", "comments": []}
    there["issues"].append({**one, "body": text(), "reason": None})
    return f"https://github.com/o/r/issues/{number}\n"


def text() -> str:
    read = sys.stdin.read()
    if not 0 < len(read) <= MOST_CHARACTERS:
        sys.exit("body is too long, or there is none")
    return read


if __name__ == "__main__":
    sys.stdout.write(main())
