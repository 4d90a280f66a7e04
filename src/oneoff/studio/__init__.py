"""The local web page: the same jobs as the command line, for people who would rather click.

A thin layer over `publish`, like `cli`; it is not written yet.
"""
