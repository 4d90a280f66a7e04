"""What the library says for the command line and for Python, in words of the page: its fields, where it names options.

`--bins 50 (bins=50)` is “Ranges of private numbers” 50 here. The tests see to it that a field of that name is there.
"""

from __future__ import annotations

import re

__all__ = ["FIELDS", "in_the_page"]

FIELDS = {
    "quasi": "an outsider may know it",
    "sensitive": "it must stay private",
    "identifiers": "it names a person",
    "person": "it says whose a row is",
    "household": "it says whose household",
    "weight": "a survey weight",
    "keep": "keep it as it is",
    "categorical": "sets of values",
    "numeric": "ranges of numbers",
    "ordered": "ranges in an order",
    "dates": "ranges of dates",
    "prefix": "first characters of codes",
    "hierarchy": "along a hierarchy (tree)",
    "by": "Values whose people are alike in",
    "missing": "Values are missing",
    "missing drop": "Leave these rows out",
    "missing category": "Keep these rows",
    "rows-are-people": "Every row is a person",
    "per-person": "One row of each person",
    "bins": "Ranges of private numbers",
    "level": "Levels up its hierarchy",
    "other-below": "Join values of fewer rows than",
    "encoding": "Encoding",
    "delimiter": "Between columns",
    "decimal": "Decimal mark",
    "na": "Texts that mean “missing”",
    "rows": "Only the first rows",
    "hold-out": "Hold people out",
    "max-suppressed": "Outliers may be left out",
    "seed": "Seed",
    "workers": "Worker processes",
    "memory-per-worker": "Memory of a worker",
    "repeat": "Draws of each",
}
_PLAIN = {"method": "the method", "option": "the option", "guarantee": "the promise"}
_OPTION = re.compile(
    rf"--({'|'.join(sorted((*FIELDS, *_PLAIN), key=len, reverse=True))})(?![\w-])(?: NAME\b|=(?=\S))?", re.ASCII
)
_PYTHON = re.compile(r" \(\w+=(?:[^()]|\([^()]*\))*\)", re.ASCII)
_SENTENCES = (
    (re.compile(r"^dropped \d+ column\(s\) that have no role: "), "not published, as their role is “leave out”: "),
    (re.compile(r"^no quasi-identifier was named$"), "no column is one that an outsider may know"),
    (
        re.compile(
            r"^name them with quasi=\[\.\.\.\] or --quasi [\w,]+; `oneoff profile FILE` suggests roles$", re.ASCII
        ),
        "give that role to what a neighbour or an employer could know, such as age, sex or the place; ✱ is proposed",
    ),
    (
        re.compile(r"^choose another one, or replace it with --overwrite \(overwrite=True\)$"),
        "choose another one: the page replaces nothing",
    ),
    (
        re.compile(r": --hold-out 0\.1 when publishing, or --control TABLE\b"),
        ": 0.1 in “Hold people out” (Method, More to choose) would tell",
    ),
    (
        re.compile(r"\bpublish with --hold-out 0\.1\b"),
        "write 0.1 into “Hold people out” (Method, More to choose) and run it again",
    ),
    (re.compile(r"(?<=a row stands for); --weight says so\b"), ""),  # it is the role that is proposed
    (re.compile(r"\bmore quasi-identifiers blur\b"), "more such columns blur"),
    (re.compile(r"\bthe same as another quasi-identifier\b"), "the same as another such column"),
    (re.compile(r"\bnotices at the end of this page\b"), "notices above"),
    (
        re.compile(r"^Hand out the folder public/ as it is, and nothing else\."),
        "Hand out the public half as it is, and nothing else: the next step has it as one file.",
    ),
    (re.compile(r"^Keep private/ as safe as the table:"), "Keep the private half as safe as the table:"),
    (re.compile(r"\bwith `oneoff verify`"), "with oneoff"),
    (re.compile(r"\bin the columns named with --by\b"), "in the columns that were chosen"),
    (re.compile(r"\bname the delimiter with delimiter= or --delimiter\b"), "choose another mark in “Between columns”"),
    (re.compile(r"^Worker processes of --engine local;"), "Worker processes, where it runs block by block;"),
    (
        re.compile(
            r"^memory, local \(worker processes over the files\) or spark; auto \(default\) takes memory up to "
        ),
        "In memory by default up to ",
    ),
    (
        re.compile(r"\bit is signed, and --key PUB says whether by whom\b"),
        "it is signed, and the public key below says whether by whom",
    ),
)


def in_the_page(text: str) -> str:
    """A message of the library for somebody who sees no command line; what names none of its options stays as it is."""
    for found, words in _SENTENCES:
        text = found.sub(words, text)
    if _OPTION.search(text):
        text = _PYTHON.sub("", text)
    return _OPTION.sub(lambda found: _PLAIN.get(found[1]) or f"“{FIELDS[found[1]]}”", text)
