"""What became of columns and of pairs of them: small bars for each column, a dot for each pair."""

from __future__ import annotations

from oneoff.report.markup import Grid, Section
from oneoff.report.plots import association_plot, distribution_bars
from oneoff.report.words import distinct, plain
from oneoff.utility import Association, Distribution, Shape

__all__ = ["columns_kept"]

_MOST_PAIRS = 10  # listed, those that changed most

_DOTS = (
    "One dot for every two columns; on the broken line nothing changed, below it columns have less to do with "
    "each other "
    "in the release. Cramer's V: 0 for nothing to do with each other, 1 where one tells the other."
)


def columns_kept(shape: Shape) -> Section:
    names = distinct((each.name for each in shape.columns), 60)
    pairs = sorted(shape.pairs, key=lambda pair: -abs(pair.change))[:_MOST_PAIRS]
    header = ("columns", "before", "after", "change")
    return {
        "note": "“Off by” is the share of people that would have to move for both to be the same.",
        "columns": [_column(name, each) for name, each in zip(names, shape.columns, strict=True)],
        "left_out": shape.left_out,
        "sentence": shape.sentence(),
        "pairs": association_plot(shape.pairs, _DOTS) if shape.pairs else None,
        "changed": Grid(
            header,
            tuple(_pair(pair) for pair in pairs),
            right=(1, 2, 3),
            caption="Pairs that changed most",
            titled=True,
        ),
    }


def _column(name: str, column: Distribution) -> Section:
    return {
        "name": name,
        "note": "sensitive" if column.sensitive else "",
        "title": f"Shares of {name}",
        "bars": distribution_bars(column),
    }


def _pair(pair: Association) -> tuple[str, str, str, str]:
    names = f"{plain(pair.one, 30)} and {plain(pair.other, 30)}"
    return names, f"{pair.before:.3f}", f"{pair.after:.3f}", f"{pair.change:+.3f}"
