"""What child processes do for the page: functions of plain values that call the library and return plain values.

Each is what a command of the command line does. Nothing here is imported by the page's own process.
"""
