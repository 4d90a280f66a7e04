"""What it costs: the losses of a release as a sentence, a plot and a table of measures."""

from __future__ import annotations

from collections.abc import Iterator

from oneoff.report.markup import Bars, Figure, Grid, Section
from oneoff.report.plots import MOST_BARS, error_plot, loss_plot, size_error_plot
from oneoff.report.words import percent, without_boxes
from oneoff.utility import CountErrors, Masking, Utility

__all__ = ["cost_tiles", "costs", "count_tiles"]

Row = tuple[str, str, str]
_HEADER = ("measure", "value", "what it measures")
_MOVED = "how far a value moved, as a share of the furthest it could"


def count_tiles(lost: Utility) -> Iterator[tuple[str, str]]:
    """What a recipient asks first."""
    if lost.count_error is not None:
        yield "what a typical count is off by", percent(lost.count_error.median)


def cost_tiles(lost: Utility) -> Iterator[tuple[str, str]]:
    """The one number that says most of what was blurred: of what is hidden, not of what is shown as it is."""
    if lost.retention is not None:
        yield "of the sensitive values are the true ones", percent(lost.retention)
    elif lost.msbs is not None:
        yield "mean squared bucket size (MSBS)", f"{lost.msbs:,.1f}"
    elif lost.gcp is not None:
        yield "of its domain spanned by a value (GCP)", percent(lost.gcp)
    elif lost.masking is not None and lost.masking.unchanged is not None:
        yield "of the values are the true ones", percent(lost.masking.unchanged)


def costs(utility: Utility) -> Section:
    counted = () if utility.count_error is None else _count_errors(utility.count_error)
    blurred = _measures(utility) if utility.masking is None else _masking_measures(utility.masking)
    return {
        "sentence": utility.sentence(),
        "by_size": _by_size(utility.count_error) if utility.count_error and utility.count_error.by_size else None,
        "counts": None if utility.count_error is None else _counts(utility.count_error),
        "figure": _figure(utility) if utility.per_attribute and not without_boxes(utility) else None,
        "measures": Grid(_HEADER, (*counted, *blurred), right=(1,), caption="What was lost, by every measure"),
    }


def _counts(errors: CountErrors) -> Figure:
    caption = (
        f"How many of {errors.queries:,} test counts are off by at most so much; further to the left is better. "
        f"The table itself would be off by 0%; the broken line is that of {errors.other_end}."
    )
    return error_plot({"this release": errors.spread, "overall distribution": errors.overall_spread}, caption)


def _by_size(errors: CountErrors) -> Bars:
    """Small counts are off by more, of what they are."""
    caption = (
        "What a count is off by in the median, by how many people it means: shorter is better. A bar of full length is "
        f"off by 100% or more; the grey one is that of {errors.other_end}."
    )
    return size_error_plot(errors.by_size, caption)


def _figure(utility: Utility) -> Bars:
    attributes = len(utility.per_attribute)
    more = f" The {MOST_BARS} most blurred of {attributes:,} attributes." if attributes > MOST_BARS else ""
    if utility.masking is not None:
        caption = f"H{_MOVED[1:]}, on average for each attribute."
        return loss_plot(utility.per_attribute, f"{caption}{more}", _MOVED)
    caption = "How much each attribute is blurred: 0% shows exact values, 100% only the whole domain."
    return loss_plot(utility.per_attribute, f"{caption}{more}")


def _count_errors(lost: CountErrors) -> Iterator[Row]:
    yield "count error", percent(lost.median), f"how far a count is off, in the median of {lost.queries:,} test counts"
    yield "mean count error", percent(lost.mean), "the same in the mean"
    yield "overall count error", percent(lost.overall_median), f"the median for {lost.other_end}"
    yield "its mean", percent(lost.overall_mean), "the same in the mean"


def _measures(lost: Utility) -> Iterator[Row]:
    if lost.retention is not None:
        yield "true values", percent(lost.retention), "sensitive values that are expected to be the true ones"
    if lost.value_error is not None:
        yield "value error", percent(lost.value_error), "how far a reconstructed number of people is off, on average"
    if lost.bucket_loss is not None:
        yield "bucket loss", f"{lost.bucket_loss:,}", "sum over buckets of the square of one less than their size"
    if lost.msbs is not None:
        yield "MSBS", f"{lost.msbs:,.1f}", "the same over one less than the people (mean squared bucket size)"
    if not without_boxes(lost):
        yield from _blurs(lost)


def _blurs(lost: Utility) -> Iterator[Row]:
    if lost.gcp is not None:
        yield "GCP", percent(lost.gcp), "how much of its domain a published value spans, on average"
    if lost.gcp_set is not None:
        yield "GCP, set variant", percent(lost.gcp_set), "the same, counting values instead of widths"
    if lost.ail is not None:
        yield "AIL", percent(lost.ail), "average information loss, along the hierarchies where there are any"
    if lost.average_class_size is not None:
        yield "group size", f"{lost.average_class_size:,.1f}", "people in a group, on average"
    if lost.discernibility is not None:
        yield "discernibility", f"{lost.discernibility:,}", "sum of squared group sizes"


def _masking_measures(lost: Masking) -> Iterator[Row]:
    yield "columns", percent(lost.marginal_mean), "how far the distribution of a column is off, on average"
    if lost.pairwise_mean is not None:
        yield "pairs", percent(lost.pairwise_mean), "the same for two columns together"
    if lost.iloss is not None and lost.unchanged is not None and lost.unchanged_records is not None:
        yield "ILoss", f"{lost.iloss:.3f}", "what the values of a person moved, in all columns together"
        yield "true values", percent(lost.unchanged), "values that came out as they were"
        yield "true records", percent(lost.unchanged_records), "people all of whose values came out as they were"
