"""Write what is generated, and what the examples print today, into the pages: python -m tests.docs.refresh [PAGE ...]

Read the difference before you commit it. With pages named, only those are run; what is generated is always written.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.generated import GENERATED
from tests.docs.pages import examples, name_of, pages, refreshed

__all__ = ["refresh"]


def refresh(chosen: list[Path]) -> list[Path]:
    """The pages that changed."""
    changed = []
    for page in chosen:
        if examples(page.read_text(encoding="utf-8")):
            with tempfile.TemporaryDirectory() as folder:
                changed += [page] if _written(page, refreshed(page, Path(folder))) else []
    return changed + [page for page, text in GENERATED.items() if _written(page, text())]


def _written(page: Path, text: str) -> bool:
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return False
    page.write_text(text, encoding="utf-8")
    return True


if __name__ == "__main__":
    for each in refresh([Path(name).resolve() for name in sys.argv[1:]] or pages()):
        print(name_of(each))
