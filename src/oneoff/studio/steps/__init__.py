"""One module for each step of the way, in order: table, columns, promise, method, run, result, handover.

Each has `routes`, at `/desk/{desk}/<step>` and below it, and its template in templates/<step>.html.
"""
