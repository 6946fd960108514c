"""The systems that quality.py trains beside ours. Each is one file: data in, a row of the table out."""
