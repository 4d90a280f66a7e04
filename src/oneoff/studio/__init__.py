"""The local web page: the same jobs as the command line, for people who would rather click.

    serve(file)      opens the page of a steward
    serve(release=)  opens the pages of a recipient

It computes nothing itself: its steps settle what a job file says (`draft.py`), and runs do what `oneoff anonymize
job.toml` does. What the web needs is imported inside; the extra `studio` installs it.
"""

from __future__ import annotations

from oneoff.studio.serving import serve

__all__ = ["serve"]
