"""RESULTS IN WORDS AND PICTURES: a verdict and its losses as text for a terminal and as a page for a board.

Nothing here decides or computes a result: counts are put into bins to draw them, and that is all. What is made here is
about the original table and belongs to the private half of a release, but for the guide to recipients and their page
(`guide`, `tasks`, `public_page`), which see the public half alone. Labels are data and never trusted: they are cut,
stripped of control characters and escaped. `templates` holds the markup of pages; templates and progress bars load
their libraries when used.
"""

from oneoff.report.page import report_html
from oneoff.report.profile_page import profile_page
from oneoff.report.progress import progress_bar
from oneoff.report.text import outcome_lines, utility_lines, verdict_lines

__all__ = ["outcome_lines", "profile_page", "progress_bar", "report_html", "utility_lines", "verdict_lines"]
