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


def ask(binary, arguments):
    """Runs ``cygnus ARGUMENTS --json`` and gives its answer as a dictionary.

    Raises CygnusError if there is none. A sweep some of whose runs failed has one.
    """
    done = subprocess.run([binary, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise CygnusError(done.stderr.strip() or f"{binary}: ended with {done.returncode} and no answer") from None
    if "error" in answer:
        raise CygnusError(answer["error"])
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
    # A number, of numpy too.
    return repr(value.item() if hasattr(value, "item") else value)
