"""A store of objects on the loopback that speaks as much of S3 as Arrow's client needs, and remembers what was written.

Servers made for tests of S3 come with many packages, and one that was tried answers the end of an upload in several
pieces with `CompleteMultipartUploadResponse`, where S3 says `CompleteMultipartUploadResult`: Arrow takes that for an
error, and rightly.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_SPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


class Objects(ThreadingHTTPServer):
    """objects by bucket/key; order: names as they were finished; refused: a part of a name that is never written."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.objects: dict[str, bytes] = {}
        self.order: list[str] = []
        self.deleted: list[str] = []
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.refused = ""

    def address(self, path: str) -> str:
        return f"s3://{path}?endpoint_override=127.0.0.1%3A{self.server_port}&scheme=http&region=us-east-1"

    def finish(self, name: str, content: bytes) -> None:
        self.objects[name] = content
        if not name.endswith("/"):  # what stands for a folder
            self.order.append(name)


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Objects

    def log_message(self, *said: Any) -> None:
        pass

    def _asked(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return unquote(parts.path).removeprefix("/"), given

    def _answer(self, status: int, body: str | bytes = b"", **headers: str) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _xml(self, root: str, body: str, status: int = 200) -> None:
        answer = f'<?xml version="1.0" encoding="UTF-8"?><{root} {_SPACE}>{body}</{root}>'
        self._answer(status, answer, Content_Type="application/xml")

    def _content(self) -> bytes:
        piecewise = self.headers.get("Transfer-Encoding") == "chunked"
        content = self._pieces() if piecewise else self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return _out_of_chunks(content) if "aws-chunked" in self.headers.get("Content-Encoding", "") else content

    def _pieces(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def do_HEAD(self) -> None:
        name, _ = self._asked()
        if name not in self.server.objects:
            is_bucket = any(each.startswith(f"{name}/") for each in self.server.objects) and "/" not in name
            return self._answer(200 if is_bucket else 404)
        content = self.server.objects[name]
        return self._answer(200, b"", Content_Length=str(len(content)), ETag=_tag(content), Last_Modified=_THEN)

    def do_GET(self) -> None:
        name, given = self._asked()
        if "list-type" in given:
            return self._list(name.rstrip("/"), given)
        if name not in self.server.objects:
            return self._xml("Error", "<Code>NoSuchKey</Code><Message>there is none</Message>", 404)
        content = self.server.objects[name]
        wanted = self.headers.get("Range", "").removeprefix("bytes=")
        if not wanted:
            return self._answer(200, content, ETag=_tag(content), Last_Modified=_THEN)
        first, last = wanted.split("-")
        some = content[int(first) : int(last) + 1 if last else None]
        said = f"bytes {first}-{int(first) + len(some) - 1}/{len(content)}"
        return self._answer(206, some, Content_Range=said, ETag=_tag(content), Last_Modified=_THEN)

    def _list(self, bucket: str, given: dict[str, str]) -> None:
        start = f"{bucket}/{given.get('prefix', '')}"
        keys = sorted(name.removeprefix(f"{bucket}/") for name in self.server.objects if name.startswith(start))
        apart, inside = given.get("delimiter"), given.get("prefix", "")
        folders = sorted(
            {inside + key[len(inside) :].split("/")[0] + "/" for key in keys if apart and "/" in key[len(inside) :]}
        )
        shown = [key for key in keys if not apart or "/" not in key[len(inside) :]][: int(given.get("max-keys", 1000))]
        body = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.server.objects[f'{bucket}/{key}'])}</Size>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in shown
        ) + "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in folders)
        self._xml(
            "ListBucketResult",
            f"<Name>{bucket}</Name><KeyCount>{len(shown) + len(folders)}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{body}",
        )

    def do_PUT(self) -> None:
        name, given = self._asked()
        content = self._content()
        if self.server.refused and self.server.refused in name:
            return self._xml("Error", "<Code>AccessDenied</Code><Message>nobody may write here</Message>", 403)
        if "partNumber" in given:
            self.server.uploads[given["uploadId"]][int(given["partNumber"])] = content
        elif "/" in name:
            self.server.finish(name, content)
        return self._answer(200, b"", ETag=_tag(content))

    def do_POST(self) -> None:
        name, given = self._asked()
        content = self._content()
        if "uploads" in given:
            number = f"upload{len(self.server.uploads)}"
            self.server.uploads[number] = {}
            return self._xml("InitiateMultipartUploadResult", f"<UploadId>{number}</UploadId>")
        if "uploadId" in given:
            pieces = self.server.uploads[given["uploadId"]]
            whole = b"".join(pieces[number] for number in sorted(pieces))
            self.server.finish(name, whole)
            return self._xml("CompleteMultipartUploadResult", f"<Key>{escape(name)}</Key><ETag>{_tag(whole)}</ETag>")
        for key in content.decode().split("<Key>")[1:]:
            self._delete(f"{name.rstrip('/')}/{key.partition('</Key>')[0]}")
        return self._xml("DeleteResult", "")

    def do_DELETE(self) -> None:
        name, given = self._asked()
        if "uploadId" not in given:
            self._delete(name)
        self._answer(204)

    def _delete(self, name: str) -> None:
        if self.server.objects.pop(name, None) is not None and not name.endswith("/"):
            self.server.deleted.append(name)


_THEN = "Thu, 01 Jan 2026 00:00:00 GMT"


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def _out_of_chunks(content: bytes) -> bytes:
    """What a client sends piece by piece, with sums of its own at the end."""
    found = b""
    while content:
        head, _, content = content.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        if size == 0:
            return found
        found, content = found + content[:size], content[size + 2 :]
    return found


@contextmanager
def store_of_objects() -> Iterator[Objects]:
    with Objects() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()
