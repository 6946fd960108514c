"""The command: one file a verb. It knows tasks and texts, not tensors; torch is imported inside the verbs.

Exit codes: 0 done, 1 the work failed, 2 the call or the data was wrong, each with one line on stderr that says what.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, NoReturn

import typer

from regard import __version__
from regard.cli.align import align
from regard.cli.look import look
from regard.cli.measure import compare, evaluate
from regard.cli.shelf import export, models, recipes
from regard.cli.train import train
from regard.cli.translate import translate
from regard.fault import Fault

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with: regard translate 'Rahul is a good boy.' · regard look 'Where do you live?'",
)
for verb in (train, translate, look, align, evaluate, compare, export, models, recipes):
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
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except (KeyboardInterrupt, typer.Abort):
        code = _failed("stopped", 130)
    except Fault as fault:
        code = _failed(str(fault), 2)
    except Wrong as error:
        error.show()
        code = 2
    except Exception as error:
        code = _ended(error)
    sys.exit(code if isinstance(code, int) else 0)


def _ended(error: Exception) -> int:
    """How a run can end before its time. Anything else is a fault of ours, and is to be seen whole."""
    from regard.train.ends import Diverged, Stopped

    if isinstance(error, Stopped):
        return _failed(str(error), error.code)
    if isinstance(error, Diverged):
        return _failed(str(error), 1)
    if isinstance(error, OSError):
        return _failed(f"{error.filename or 'the system'}: {error.strerror or error}", 1)
    raise error


def _failed(line: str, code: int) -> int:
    sys.stderr.write(f"regard: {line}\n")
    return code
