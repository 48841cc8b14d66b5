"""The ``cygnus`` program: where it is, what it is asked, and what it answers."""

import json
import os
import shutil
import subprocess


class CygnusError(RuntimeError):
    """What ``cygnus`` could not do, in its own words."""


def find(binary=None):
    """The path of the program: ``binary``, else ``$CYGNUS``, else ``cygnus`` in the path."""
    wanted = binary or os.environ.get("CYGNUS") or "cygnus"
    found = shutil.which(wanted)
    if found is None:
        raise CygnusError(
            f"{wanted}: there is no such program: build it with 'cargo install --path crates/cli', "
            "or say where it is with binary=... or $CYGNUS"
        )
    return os.path.abspath(found)


def ask(binary, arguments, wanted):
    """Runs ``cygnus ARGUMENTS --json`` and gives its answer as a dictionary, which has a member ``wanted``.

    Raises CygnusError if there is none. A sweep some of whose runs failed has one.
    """
    try:
        done = subprocess.run([binary, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise CygnusError(f"{binary} cannot be run: {error.strerror}") from error
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = None
    if isinstance(answer, dict) and "error" in answer:
        raise CygnusError(answer["error"])
    if not isinstance(answer, dict) or wanted not in answer:
        said = done.stderr.strip() or f"it ended with {done.returncode} and no answer"
        raise CygnusError(f"{binary} is no cygnus that has sweeps, or one too old for this package: {said}")
    return answer


def toml(value):
    """A value as TOML writes it on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    if isinstance(value, os.PathLike):
        return toml(os.fspath(value))
    # A number, or what numpy has for one, a truth or a text.
    if hasattr(value, "item"):
        return toml(value.item())
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"{value!r} is no value of a scenario: write a number, a text, True or False, a list or a dictionary of such")
