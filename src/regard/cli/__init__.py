"""The command: one file a verb. It knows tasks and texts, not tensors; torch is imported inside the verbs.

Exit codes: 0 done, 1 the work failed, 2 the call or the data was wrong, each with one line on stderr that says what.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer

from regard import __version__
from regard.cli.align import align
from regard.cli.look import look
from regard.cli.measure import compare, evaluate
from regard.cli.serve import serve
from regard.cli.shelf import export, models, recipes
from regard.cli.train import train
from regard.cli.translate import READER, translate
from regard.fault import Fault

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with: regard translate 'Rahul is a good boy.' · regard look 'Where do you live?'",
)
for verb in (train, translate, look, align, evaluate, compare, serve, export, models, recipes):
    app.command()(verb)


# A wrong call. Some versions of typer bring this class themselves, in others it is click's.
Wrong: Any = typer.BadParameter.__mro__[1]


def _version(asked: bool) -> bool:
    if asked:
        sys.stdout.write(f"regard {__version__}\n")
        raise typer.Exit
    return asked


@app.callback()
def regard(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Learn to turn one sequence into another by attention, and see what it looked at."""


def main() -> NoReturn:
    """What the shell calls."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what is read is UTF-8, whatever the terminal believes
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        if code == 130:  # what some versions of typer make of Ctrl-C
            code = _failed("stopped", 130)
    except BrokenPipeError:
        code = _seen_enough()
    except SystemExit as left:  # what typer makes of a closed pipe
        code = _seen_enough() if isinstance(left.__context__, BrokenPipeError) else left.code
    except (KeyboardInterrupt, typer.Abort):
        code = _failed("stopped", 130)
    except Fault as fault:
        code = _failed(str(fault), 2)
    except Wrong as error:
        error.show()
        code = 2
    except Exception as error:
        code = _ended(error)
    _leave(code if isinstance(code, int) else 0)


def _seen_enough() -> int:
    """Whoever read the output has gone, as `| head` does. What is still to be flushed goes nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return 0


def _leave(code: int) -> NoReturn:
    """A thread that still waits for standard input holds its lock, and Python aborts when it cannot have it."""
    readers = [each for each in threading.enumerate() if each.name == READER]
    for each in readers:
        each.join(0.2)  # one that has read all is about to end
    if any(each.is_alive() for each in readers):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _ended(error: Exception) -> int:
    """How a run can end before its time. Anything else is a fault of ours, and is to be seen whole."""
    from regard.train.ends import Diverged, Stopped

    if isinstance(error, Stopped):
        return _failed(str(error), error.code)
    if isinstance(error, Diverged):
        return _failed(str(error), 1)
    if isinstance(error, OSError):
        return _failed(f"{error.filename or 'the system'}: {error.strerror or error}", 1)
    if isinstance(error, MemoryError) or "out of memory" in str(error) or "can't allocate memory" in str(error):
        return _failed("there is not enough memory; try a smaller train.batch_tokens, model.width or --beam", 1)
    raise error


def _failed(line: str, code: int) -> int:
    sys.stderr.write(f"regard: {' '.join(line.split(chr(10)))}\n")
    return code
