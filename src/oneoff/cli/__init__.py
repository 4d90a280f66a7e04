"""The command line: words in, one call into the library, words or JSON out.

Each command is a thin function; heavy imports happen inside it, so that `oneoff --help` answers at once.
"""
