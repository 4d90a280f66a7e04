"""WHAT IT IS STILL GOOD FOR: how much a release blurs, by the measures of the papers."""

from oneoff.utility.loss import Utility, utility

__all__ = ["Utility", "utility"]
